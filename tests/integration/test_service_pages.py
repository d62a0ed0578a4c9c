"""The pages of a service: their stories in a real browser, and without scripts."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from babel.messages.pofile import read_po
from browser import Browser, find_browser
from served import Served

from discreto.service.rendering import LANGUAGES

AXE = Path(__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
SOURCE = Path(__file__).parents[2] / "src" / "discreto" / "service"
Visit = Callable[[str], "Visitor"]
PICTURES = os.environ.get("DISCRETO_PICTURES")  # a folder, to look at pages


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    more = "\n[limits]\nper_second = 200\ntime_bucket = 0.05\n"
    out = Served(tmp_path_factory.mktemp("pages"), rows=400, more=more)
    yield out
    out.stop()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip("needs Chromium")
    out = Browser(path, tmp_path / "profile")
    yield out
    out.close()


def sign_in(browser: Browser, served: Served, name: str) -> None:
    browser.open(f"{served.url}/login")
    for _ in range(100):  # a page that looks again by itself may have come between
        if browser.run("document.getElementById('token') !== null"):
            break
        time.sleep(0.1)
    browser.run(f"document.getElementById('token').value = {served.tokens[name]!r}")
    browser.go("button.main")


def look(browser: Browser, name: str) -> None:
    """Check a page as a screen reader would find it, and keep a picture of it."""
    if PICTURES:
        (Path(PICTURES) / f"{name}.png").write_bytes(browser.picture())
    assert browser.errors == [], name
    if not AXE.exists():
        return
    browser.run(AXE.read_text(encoding="utf-8"))
    found = browser.send(
        "Runtime.evaluate",
        expression="axe.run(document).then(r => JSON.stringify(r.violations.map("
        "v => [v.impact, v.id, v.nodes.map(n => n.html).slice(0, 3)])))",
        awaitPromise=True,
        returnByValue=True,
    )
    serious = [
        one
        for one in json.loads(found["result"]["value"])
        if one[0] in ("serious", "critical")
    ]
    assert serious == [], (name, serious)


def test_an_analyst_asks_and_the_owner_approves(
    browser: Browser, served: Served
) -> None:
    browser.open(served.url)
    assert browser.run("location.pathname") == "/login"
    look(browser, "login")
    sign_in(browser, served, "ana")
    look(browser, "home")
    browser.open(f"{served.url}/tables/patients")
    look(browser, "table")
    browser.run(
        "for (const [k, v] of Object.entries({statistic: 'mean', column: 'age', "
        "by: 'region', epsilon: '0.2'})) document.getElementById(k).value = v"
    )
    browser.go("button[value=plan]")
    assert "Expected error" in browser.run("document.body.innerText")
    look(browser, "plan")
    browser.go("button[value=ask]")
    text = browser.run("document.body.innerText")
    assert "mean of age by region" in text
    assert browser.run("document.querySelectorAll('svg .bar').length") == 4
    look(browser, "answer")
    # Above the ceiling
    browser.open(f"{served.url}/tables/patients")
    browser.run(
        "document.getElementById('sentence').value = 'median(bmi)';"
        "document.getElementById('epsilon').value = '0.9';"
        "document.getElementById('comment').value = 'for <b>the</b> report'"
    )
    browser.go("button[value=request]")
    assert "waiting" in browser.run("document.body.innerText")
    browser.go("header .out button")
    sign_in(browser, served, "olga")
    browser.open(f"{served.url}/requests")
    assert "for <b>the</b> report" in browser.run("document.body.innerText")
    look(browser, "requests")
    browser.go("button[value=approve]")
    assert "approved" in browser.run("document.body.innerText")
    for path in ("/people", "/ledgers/patients", "/history"):
        browser.open(served.url + path)
        look(browser, "owner" + path.replace("/", "-"))
    browser.go("header .out button")
    sign_in(browser, served, "iris")
    browser.open(f"{served.url}/ledgers/patients")
    browser.go("button[value=verify]")
    assert "intact" in browser.run("document.body.innerText")
    look(browser, "auditor")


def until(browser: Browser, words: str, seconds: float = 60) -> str:
    """The text of a page that loads itself again, once it has these words."""
    end, text = time.monotonic() + seconds, ""
    while time.monotonic() < end:
        with suppress(RuntimeError):  # it is just being loaded
            text = str(browser.run("document.body.innerText"))
        if words in text:
            return text
        time.sleep(0.1)
    raise AssertionError(f"{words!r} is not in {text!r}")


def test_an_owner_works_on_a_domain_and_audits(
    browser: Browser, served: Served
) -> None:
    sign_in(browser, served, "olga")
    browser.open(f"{served.url}/tables/patients")
    browser.go("a[href='/domains/patients']")
    look(browser, "domain")
    browser.run(
        "const t = document.getElementById('text');"
        "t.value = t.value.replace('\"upper\": 110', '\"upper\": 120')"
    )
    browser.go("button[value=save]")
    text = browser.run("document.body.innerText")
    assert "fits the table" in text
    assert '"upper": 120' in text
    look(browser, "domain-saved")
    browser.go("button[value=draft]")
    assert browser.run("document.querySelector('.error') !== null")  # to be filled in
    look(browser, "domain-draft")
    browser.open(f"{served.url}/audits")
    look(browser, "audits-empty")
    browser.run(
        "document.getElementById('subject').value = 'count()';"
        "document.getElementById('runs').value = '0'"
    )
    browser.go("form[action='/audits'] button")
    assert "holds" in until(browser, "holds")
    look(browser, "audits")
    browser.go("header .out button")
    sign_in(browser, served, "iris")
    browser.open(f"{served.url}/audits")
    assert "count()" in browser.run("document.body.innerText")
    browser.open(f"{served.url}/domains/patients")
    assert "role does not allow" in browser.run("document.body.innerText")


def test_an_analyst_compares_and_fits(browser: Browser, served: Served) -> None:
    sign_in(browser, served, "bo")
    browser.open(f"{served.url}/tables/patients")
    browser.run(
        "document.getElementById('simulated').value = '150';"
        "document.getElementById('costs').value = '1'"
    )
    browser.go("button[value=compare]")
    until(browser, "See the answer")
    look(browser, "job")
    browser.go("main a")
    until(browser, "NaiveBayes")
    look(browser, "comparison")
    browser.open(f"{served.url}/tables/patients")
    browser.run(
        "document.getElementById('model').value = 'NaiveBayes';"
        "document.getElementById('cost').value = '0.1'"
    )
    browser.go("button[value=fit]")
    until(browser, "See the answer")
    browser.go("main a")
    look(browser, "model")
    browser.go("a[href$='/card']")
    assert "Model card" in browser.run("document.body.innerText")
    if PICTURES:
        (Path(PICTURES) / "card.png").write_bytes(browser.picture())


@pytest.mark.skipif(not AXE.exists(), reason="needs npm install in tests/integration")
def test_the_check_for_screen_readers_can_fail(
    browser: Browser, served: Served
) -> None:
    sign_in(browser, served, "ana")
    browser.run("document.querySelector('main').innerHTML = '<input>'")
    with pytest.raises(AssertionError, match="label"):
        look(browser, "broken")


def test_pages_fit_a_phone_and_the_dark(browser: Browser, served: Served) -> None:
    sign_in(browser, served, "bo")
    for dark in (False, True):
        browser.open(f"{served.url}/tables/patients", dark=dark, width=360)
        wide = browser.run("document.documentElement.scrollWidth")
        assert wide <= 360
        look(browser, f"phone-{'dark' if dark else 'light'}")
    paper = browser.run("getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(20, 23, 26)"


def test_the_script_shows_the_expected_error(browser: Browser, served: Served) -> None:
    sign_in(browser, served, "bo")
    browser.open(f"{served.url}/tables/patients")
    browser.run(
        "document.getElementById('sentence').value = 'mean(age)';"
        "document.getElementById('epsilon').dispatchEvent("
        "new Event('input', {bubbles: true}))"
    )
    for _ in range(100):
        text = browser.run("document.getElementById('preview').textContent")
        if "±" in text:
            break
        browser.send(
            "Runtime.evaluate",
            expression="new Promise(f => setTimeout(f, 50))",
            awaitPromise=True,
        )
    assert "mean of age" in text
    assert browser.errors == []
    assert all(url.startswith((served.url, "data:")) for url in browser.requests)


# Without scripts


@pytest.fixture
def visit(served: Served) -> Iterator[Callable[[str], Visitor]]:
    visitors: list[Visitor] = []

    def sign_in(name: str) -> Visitor:
        visitors.append(Visitor(served, name))
        return visitors[-1]

    yield sign_in
    for one in visitors:
        one.http.close()


class Visitor:
    """Somebody with a browser that runs no scripts: links, forms, cookies."""

    def __init__(self, served: Served, name: str) -> None:
        self.http = httpx.Client(
            base_url=served.url, follow_redirects=True, headers={"accept": "text/html"}
        )
        reply = self.http.post("/login", data={"token": served.tokens[name]})
        assert reply.status_code == 200
        self.proof = re.search(r'name="csrf" value="([^"]+)"', reply.text)[1]  # type: ignore[index]

    def post(self, path: str, **fields: str) -> httpx.Response:
        return self.http.post(path, data={"csrf": self.proof} | fields, timeout=300)


def test_everything_works_without_scripts(visit: Visit) -> None:
    ana = visit("ana")
    fields = {"statistic": "mean", "column": "days", "by": "sex", "epsilon": "0.05"}
    plan = ana.post("/tables/patients", do="plan", **fields)
    assert "Expected error" in plan.text
    assert "if there are 1000 rows, spread evenly over the domain" in plan.text
    told = ana.post("/tables/patients/preview", do="plan", rows="500", **fields).json()
    assert told["text"].endswith(
        "(95 %), if there are 500 rows, spread evenly over the domain"
    )
    answer = ana.post("/tables/patients", do="ask", **fields)
    assert "mean of days by sex" in answer.text
    path = answer.url.path
    told = ana.http.get(f"{path}.json").json()
    sheet = ana.http.get(f"{path}.csv").text
    assert str(told["releases"][0]["value"][0]) in sheet
    assert ana.http.get(f"{path}.html").headers["content-disposition"]
    job = ana.post("/tables/patients", do="fit", model="NaiveBayes", epsilon="0.1")
    for _ in range(100):
        if "See the answer" in job.text:
            break
        job = ana.http.get(job.url.path)
    link = re.search(r'href="(/tables/patients/answers/\w+)"', job.text)
    assert link is not None
    card = ana.http.get(f"{link[1]}/card")
    assert "Model card" in card.text
    assert "Accuracy was not measured." in card.text
    name = link[1].rpartition("/")[2]
    judged = ana.post("/tables/patients", do="evaluate", evaluate=name, epsilon="0,1")
    assert judged.status_code == 200
    card = ana.http.get(f"{link[1]}/card")
    assert "How good it is" in card.text
    assert "Accuracy was not measured." not in card.text
    assert "script-src" not in card.headers["content-security-policy"]
    refused = ana.post("/tables/patients", do="ask", sentence="mean(x)", epsilon="0.1")
    assert refused.status_code == 422
    assert 'role="alert"' in refused.text


def test_forms_of_other_sites_are_refused(visit: Visit) -> None:
    ana = visit("ana")
    path, body = "/tables/patients", {"do": "ask", "sentence": "count()"}
    body |= {"epsilon": "0.01"}
    without = ana.http.post(path, data=body)
    wrong = ana.http.post(path, data=body | {"csrf": "x" * 32})
    elsewhere = ana.http.post(
        path, data=body | {"csrf": ana.proof}, headers={"origin": "https://evil.org"}
    )
    assert [r.status_code for r in (without, wrong, elsewhere)] == [403] * 3
    cookie = next(iter(ana.http.cookies.jar))
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "lax"
    ana.post("/logout")
    ana.http.cookies.set(cookie.name, str(cookie.value))
    assert ana.http.get("/history").url.path == "/login"


def test_a_link_signs_in_once(served: Served) -> None:
    path = served.links["bo"]
    for status, words in ((200, "Sign out"), (401, "Sign in")):
        with httpx.Client(base_url=served.url, follow_redirects=True) as http:
            assert "works once" in http.get(path).text
            reply = http.post(path)
            assert (reply.status_code, words in reply.text) == (status, True)
    assert "A link signs in once, in one browser." in reply.text
    assert "Bearer" not in reply.text


def test_choosing_a_language_stays_on_the_page(served: Served) -> None:
    with httpx.Client(base_url=served.url, follow_redirects=True) as http:
        path = served.links["iris"]
        back = re.search(r'name="back" value="([^"]*)"', http.get(path).text)
        assert back is not None
        assert back[1] == path
        there = http.get("/language", params={"to": "es", "back": back[1]})
        assert there.url.path == path
        assert 'lang="es"' in there.text
        for evil in ("//evil.org", "https://evil.org", "/\\evil.org", "/a?b=c", ""):
            there = http.get("/language", params={"to": "es", "back": evil})
            assert there.url.path == "/login"


def test_an_invited_analyst_gets_a_token_at_once(visit: Visit, served: Served) -> None:
    olga = visit("olga")
    done = olga.post("/people", name="yara", role="analyst")
    token = re.search(r"<code>(\S+)</code>", done.text)
    assert token is not None
    assert 'href="/ledgers/patients"' in done.text[done.text.index(token[0]) :]
    with httpx.Client(base_url=served.url, follow_redirects=True) as http:
        reply = http.post("/login", data={"token": token[1]})
        assert "yara (analyst)" in reply.text
    again = olga.post("/people", name="yara", role="analyst")
    assert again.status_code == 409
    assert 'role="alert"' in again.text
    assert "<code>" not in again.text


def test_removing_takes_two_presses_and_can_be_undone(
    visit: Visit, served: Served
) -> None:
    olga = visit("olga")
    made = olga.post("/people", name="vera", role="analyst").text
    token = re.search(r"<code>(\S+)</code>", made)
    assert token is not None
    asked = olga.post("/people/vera", do="remove").text
    assert "All tokens and sessions of this person end at once" in asked

    def signs_in(text: str) -> bool:
        with httpx.Client(base_url=served.url, follow_redirects=True) as http:
            return "vera (analyst)" in http.post("/login", data={"token": text}).text

    assert signs_in(token[1])
    assert "removed" in olga.post("/people/vera", do="remove-now").text
    assert not signs_in(token[1])
    again = re.search(
        r"<code>(\S+)</code>", olga.post("/people/vera", do="restore").text
    )
    assert again is not None
    assert signs_in(again[1])
    assert not signs_in(token[1])


def test_an_answer_has_one_title_few_digits_and_what_is_left(visit: Visit) -> None:
    ana = visit("ana")
    fields = {"statistic": "mean", "column": "age", "epsilon": "0.03"}
    text = ana.post("/tables/patients", do="ask", **fields).text
    assert re.findall(r"<h\d>mean of age</h\d>", text) == ["<h1>mean of age</h1>"]
    cells = re.findall(r"<td>(\d+(?:\.\d+)?)(?: years)?</td>", text)[:3]
    error = (float(cells[2]) - float(cells[1])) / 2
    assert len(cells[0].partition(".")[2]) <= (0 if error >= 10 else 1 + (error < 1))
    assert "Budgets" in text
    page = ana.http.get("/tables/patients").text
    assert page.index("Budgets") < page.index("<h2>Ask</h2>")
    assert "<td>category</td>" in page
    assert "categorical" not in page
    assert "numeric<" not in page


def test_the_history_says_that_an_owner_gave_a_budget(visit: Visit) -> None:
    olga = visit("olga")
    olga.post("/people", name="wim", role="analyst")
    olga.post("/ledgers/patients", do="allow", account="wim", epsilon="0.01")
    text = olga.http.get("/history").text
    line = next(part for part in text.split("<tr>") if "allow wim" in part)
    assert "<td>owner</td>" in line
    assert "<td>wim</td>" not in line


def test_numbers_have_the_decimal_mark_of_the_language(visit: Visit) -> None:
    ana = visit("ana")
    ana.http.get("/language", params={"to": "fr"})
    text = ana.http.get("/tables/patients").text
    assert 'value="0,1"' in text
    assert "<td>0,5</td>" in text  # the ceiling, which is 1/2
    assert "1/2" not in text
    assert '<label for="where">Condition</label>' in text
    fields = {"sentence": "mean(days)", "epsilon": "0,02"}
    plan = ana.post("/tables/patients", do="plan", **fields)
    assert "ε 0,02" in plan.text
    assert re.search(r"± \d+,\d+ ", plan.text)
    assert "s’il y a 1000 lignes" in plan.text
    assert "<strong>moyenne de days</strong>\N{NO-BREAK SPACE}:" in plan.text
    answer = ana.post("/tables/patients", do="ask", **fields)
    assert re.search(r"<td>\d+,\d+", answer.text)
    sheet = ana.http.get(f"{answer.url.path}.csv").text
    assert "ε 0.02" in sheet  # files are for programs


def test_roles_see_their_own_pages(visit: Visit) -> None:
    ana = visit("ana")
    for path in ("/people", "/ledgers/patients", "/ledgers/patients/proof.json"):
        assert ana.http.get(path).status_code == 403
    assert ana.post("/people/ana", do="token").status_code == 403
    assert ana.post("/ledgers/patients", do="verify").status_code == 403
    iris = visit("iris")
    fields = {"account": "ana", "epsilon": "99"}
    assert iris.post("/ledgers/patients", do="allow", **fields).status_code == 403
    olga = visit("olga")
    done = olga.post("/people/bo", do="token")
    assert "shown only now" in done.text
    assert olga.post("/people", name="zoe", role="analyst").status_code == 200
    assert "zoe" in olga.http.get("/ledgers/patients").text
    assert (
        "1.25"
        in olga.post("/ledgers/patients", do="allow", account="bo", epsilon="1.25").text
    )


# Languages


def words_of_templates() -> set[str]:
    found: set[str] = set()
    for path in (SOURCE / "templates").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        found |= set(re.findall(r"""_\((?:"([^"]+)"|'([^']+)')\)""", text))
    said = {a or b for a, b in found}  # type: ignore[misc]
    spoken = {"owner", "analyst", "auditor", "population"}
    spoken |= {"waiting", "running", "done", "refused", "cancelled", "died", "approved"}
    return said | spoken


@pytest.mark.parametrize("language", [name for name in LANGUAGES if name != "en"])
def test_every_word_is_translated(language: str) -> None:
    path = SOURCE / "translations" / f"{language}.po"
    with path.open("rb") as file:
        catalogue = read_po(file, locale=language)
    known = {str(m.id): str(m.string) for m in catalogue if m.id}
    missing = {word for word in words_of_templates() if not known.get(word)}
    assert missing == set()
    assert set(known) - words_of_templates() == set()


def test_pages_speak_the_language_that_is_chosen(served: Served) -> None:
    with httpx.Client(base_url=served.url, follow_redirects=True) as http:
        text = http.get("/login", headers={"accept-language": "pt-BR,en;q=0.5"}).text
        assert '<html lang="pt">' in text
        http.get("/language", params={"to": "fr"})
        assert '<html lang="fr">' in http.get("/login").text


def test_nothing_typed_becomes_markup(visit: Visit) -> None:
    ana = visit("ana")
    evil = "<script>alert(1)</script>"
    fields: dict[str, Any] = {"sentence": f"mean(age) where sex == '{evil}'"}
    reply = ana.post("/tables/patients", do="ask", epsilon="0.01", **fields)
    assert evil not in reply.text
