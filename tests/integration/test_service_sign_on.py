"""Single sign-on against a provider with real keys, which may also lie."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from identity_provider import CLIENT, SECRET, Provider
from served import Served, free_port


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    out = Provider()
    yield out
    out.close()


@pytest.fixture(scope="module")
def served(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("sign-on")
    (folder / "secret").write_text(SECRET)
    port = free_port()
    edit = {
        'role = "analyst"\n[people.bo]': 'role = "analyst"\n'
        'email = "Ana@Example.org"\n[people.bo]',
        'state = "service.state"': 'state = "service.state"\n'
        f'url = "http://127.0.0.1:{port}"',
    }
    more = (
        f'\n[oidc]\nissuer = "{provider.issuer}"\nclient_id = "{CLIENT}"\n'
        'secret_file = "secret"\nlabel = "University account"\n'
        "[limits]\nper_second = 200\n"
    )
    out = Served(folder, rows=20, edit=edit, more=more, port=port)
    yield out
    out.stop()


def visit(served: Served) -> httpx.Response:
    with httpx.Client(base_url=served.url, follow_redirects=True, timeout=300) as http:
        return http.get("/oidc/start")


def test_a_known_person_signs_in(served: Served, provider: Provider) -> None:
    provider.email, provider.lies = "ana@example.org", {}
    assert "University account" in httpx.get(f"{served.url}/login").text
    reply = visit(served)
    assert reply.status_code == 200
    assert "ana (analyst)" in reply.text


@pytest.mark.parametrize(
    "lies",
    [
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": "eve@example.org"},
        {"email": ""},
        {"aud": "somebody else"},
        {"iss": "https://evil.example.org"},
        {"nonce": "another"},
        {"exp": int(time.time()) - 3600},
    ],
)
def test_lies_are_refused(
    served: Served, provider: Provider, lies: dict[str, Any]
) -> None:
    provider.lies = lies
    reply = visit(served)
    provider.lies = {}
    assert reply.status_code == 401
    assert "Sign out" not in reply.text


def test_another_signature_is_refused(served: Served, provider: Provider) -> None:
    provider.sign_with_other = True
    reply = visit(served)
    provider.sign_with_other = False
    assert reply.status_code == 401


def test_a_code_without_its_cookie_is_refused(served: Served) -> None:
    with httpx.Client(base_url=served.url, timeout=300) as http:
        away = http.get("/oidc/start").headers["location"]
        back = httpx.get(away).headers["location"]
    with httpx.Client(timeout=300) as other:
        assert other.get(back).status_code == 401


def test_coming_back_works_once(served: Served) -> None:
    with httpx.Client(base_url=served.url, timeout=300) as http:
        away = http.get("/oidc/start").headers["location"]
        back = httpx.get(away).headers["location"]
        assert http.get(back.replace("state=", "state=x")).status_code == 401
        assert http.get(back).status_code == 401  # it ended with the wrong try
        away = http.get("/oidc/start").headers["location"]
        back = httpx.get(away).headers["location"]
        assert http.get(back).status_code == 303
        assert http.get(back).status_code == 401
