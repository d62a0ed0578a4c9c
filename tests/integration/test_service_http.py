"""A service over HTTP: real processes, real sockets, people who mean no good."""

from __future__ import annotations

import itertools
import json
import random
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest
from pyarrow import parquet
from served import Served

import discreto as dp
from discreto.errors import BudgetError, DomainError, ParameterError, UnsafeError
from discreto.models import KMeans, NaiveBayes
from discreto.release.ledger_proof import check_proof
from discreto.service.demo import write_demo

MEAN = {"ask": "mean(age)", "epsilon": "0.01"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    edit = {'ceiling = "0.5"': 'ceiling = "0.5"\nepsilon = 4'}
    more = "\n[limits]\nper_second = 200\nseconds = 1\ntime_bucket = 0.05\n"
    out = Served(tmp_path_factory.mktemp("service"), edit=edit, more=more)
    yield out
    out.stop()


def test_the_description_is_published_and_true(served: Served) -> None:
    described = httpx.get(f"{served.url}/api/v1/openapi.json").json()
    paths = described["paths"]
    assert "/api/v1/tables/{table}/ask" in paths
    body = described["components"]["schemas"]["QuestionBody"]
    assert body["additionalProperties"] is False
    assert body["required"] == ["epsilon"]
    with served.client() as nobody:
        for path, methods in paths.items():
            for method in methods:
                real = re.sub(r"\{\w+\}", "x", path).removeprefix("/api/v1")
                reply = nobody.request(method.upper(), real, json={})
                assert reply.status_code == 401, (method, path)


def test_headers_are_strict_and_errors_plain(served: Served) -> None:
    reply = httpx.get(f"{served.url}/nothing/at/../all?x=<script>")
    assert reply.status_code == 404
    assert reply.json()["error"] == "not_found"
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    assert "server" not in reply.headers


def test_a_question_is_planned_asked_and_kept(served: Served) -> None:
    own = MEAN | {"epsilon": "0.04"}  # which no other test has asked before
    with served.client("ana") as ana:
        plan = ana.post("/tables/patients/plan", json=own).json()
        assert not plan["paid"]
        assert plan["plan"]["total"] == {"epsilon": "1/25"}
        assert plan["meaning"]["success"] == pytest.approx(0.51, abs=1e-4)
        asked = {"epsilon": "ln 3", "prior": "0.25"}
        meant = ana.get("/explain", params=asked).json()
        assert meant["posterior"] == pytest.approx(0.5)
        assert meant["deployments"]
        assert ana.get("/explain", params={"epsilon": "much"}).status_code < 500
        first = ana.post("/tables/patients/ask", json=own).json()
        again = ana.post("/tables/patients/ask", json=own).json()
        assert again["releases"] == first["releases"]
        assert again["repeated"]
        stored = ana.get(f"/tables/patients/answers/{first['id']}").json()
        assert stored["releases"] == first["releases"]
        assert ana.post("/tables/patients/plan", json=own).json()["paid"]


def test_requests_that_are_too_large_or_too_slow_end(served: Served) -> None:
    with served.client("ana") as ana:
        large = ana.post("/tables/patients/ask", content=b" " * 70_000)
        assert (large.status_code, large.json()["error"]) == (413, "too_large")
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as slow:
        head = "POST /api/v1/tables/patients/ask HTTP/1.1\r\nHost: x\r\n"
        slow.sendall(f"{head}Content-Length: 100\r\n\r\n".encode() + b"{")
        assert b"408" in slow.recv(4096)


def test_who_sends_a_head_byte_by_byte_is_cut_off(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as slow:
        slow.settimeout(0.3)
        closed, end = False, time.monotonic() + 300
        for letter in itertools.cycle(b"GET /health HTTP/1.1"):
            try:
                slow.sendall(bytes([letter]))
                closed = slow.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                closed = True
            if closed or time.monotonic() > end:
                break
    assert closed
    with served.client() as http:  # others are served meanwhile, and lines kept open
        for _ in range(3):
            assert http.get(f"{served.url}/health").status_code == 200


HOSTILE: list[Any] = [
    None,
    [],
    "x",
    {},
    {"epsilon": "0.01"},
    {"ask": {}, "epsilon": "0.01"},
    {"ask": "mean(age)", "epsilon": {}},
    {"ask": "mean(age)", "epsilon": "1e999999"},
    {"ask": "mean(age)", "epsilon": "9" * 2000},
    {"ask": "mean(age)", "epsilon": "0.01", "delta": "2"},
    {"ask": "mean(age)", "epsilon": "0.01", "extra": 1},
    {"ask": "histogram(age, 1000000000)", "epsilon": "0.01"},
    {"ask": "__import__('os')", "epsilon": "0.01"},
    {"ask": "mean(" + "(" * 500 + "age" + ")" * 500 + ")", "epsilon": "0.01"},
    {"ask": "mean(age) where " + " and ".join(["age > 1"] * 500), "epsilon": "0.01"},
    {"ask": "mean(age ** 99999 ** 99999)", "epsilon": "0.01"},
    {"ask": "quantile(age, 1e400)", "epsilon": "0.01"},
    {"ask": "top(region, -1)", "epsilon": "0.01"},
    {"ask": "\ud800", "epsilon": "0.01"},
    {"statistic": {"kind": "Viewed"}, "epsilon": "0.01"},
    {"statistic": {"kind": "Histogram", "columns": ["age"] * 300}, "epsilon": "0.01"},
    {"fit": {"model": "KMeans", "params": {"n_clusters": 10**6}}, "epsilon": "0.01"},
    {"fit": {"model": ["KMeans"]}, "epsilon": "0.01"},
    {"fit": {"model": "NaiveBayes", "params": {"alpha": "nan"}}, "epsilon": "0.01"},
    {"fit": {"model": "NaiveBayes", "params": {"alpha": -1}}, "epsilon": "0.01"},
    {"evaluate": "../../etc/passwd", "epsilon": "0.01"},
    {"view": [{"kind": "Where", "condition": {}}], "ask": "count()", "epsilon": "0.01"},
]


def test_hostile_bodies_are_refused_and_cost_nothing(served: Served) -> None:
    def spent(owner: httpx.Client) -> Any:
        return owner.get("/ledgers/patients").json()["budgets"]

    with served.client("olga") as olga, served.client("bo") as bo:
        before = spent(olga)
        for body in HOSTILE:
            for what in ("plan", "ask", "jobs", "requests"):
                content = json.dumps(body)
                reply = bo.post(f"/tables/patients/{what}", content=content)
                assert 400 <= reply.status_code < 500, (what, body, reply.text)
                assert set(reply.json()) == {"error", "message"}
        for content in (
            b"{",
            b"[" * 5000,
            b"\xff\xfe",
            b'{"epsilon": NaN}',
            b"1e999",
            b'{"ask": "count()", "epsilon": "0.01", "epsilon": "0.02"}',
        ):
            kind = {"content-type": "application/json"}
            reply = bo.post("/tables/patients/ask", content=content, headers=kind)
            assert 400 <= reply.status_code < 500, content
        assert spent(olga) == before


def test_roles_keep_people_apart(served: Served) -> None:
    with served.client("ana") as ana:
        done = ana.post("/tables/patients/ask", json=MEAN).json()["id"]
    forbidden = [
        ("ana", "GET", "/people"),
        ("ana", "GET", "/ledgers/patients/proof"),
        ("ana", "PUT", "/ledgers/patients/budgets"),
        ("iris", "PUT", "/ledgers/patients/budgets"),
        ("iris", "POST", "/tables/patients/ask"),
        ("olga", "POST", "/tables/patients/ask"),
        ("iris", "POST", "/people/ana/tokens"),
    ]
    bodies = {
        "/ledgers/patients/budgets": {"account": "ana", "epsilon": 99},
        "/tables/patients/ask": MEAN,
    }
    for name, method, path in forbidden:
        with served.client(name) as client:
            reply = client.request(method, path, json=bodies.get(path, {}))
            assert (reply.status_code, reply.json()["error"]) == (403, "forbidden")
    with served.client("bo") as bo:
        for path in (f"/tables/patients/answers/{done}", "/jobs/x", "/tables/staff"):
            assert bo.get(path).json()["error"] == "not_found"


def test_tokens_that_are_not_good_are_all_refused_alike(served: Served) -> None:
    good = served.tokens["ana"]
    words = ["", "Bearer", "Basic abc", f"bearer {good[:-2]}", f"Bearer {good} x"]
    words += ["Bearer " + "a" * 9000, "Bearer ../../x", f"Bearer {good[::-1]}"]
    texts = set()
    for word in words:
        reply = httpx.get(
            f"{served.url}/api/v1/me", headers={"authorization": word}, timeout=300
        )
        assert reply.status_code == 401
        texts.add(reply.text)
    assert len(texts) == 1


def test_owners_and_auditors_see_the_chain(served: Served) -> None:
    with served.client("iris") as iris:
        assert iris.post("/ledgers/patients/verify").json()["intact"]
        proof = iris.get("/ledgers/patients/proof").json()
    assert check_proof(proof) > 2
    assert "releases" not in json.dumps(proof)
    with served.client("olga") as olga:
        body = {"account": "bo", "epsilon": "1.5"}
        found = olga.put("/ledgers/patients/budgets", json=body).json()
        assert found["budgets"]["bo"]["limit"] == 1.5
        made = olga.post("/people/bo/tokens").json()
        assert olga.delete(f"/tokens/{made['id']}").json()["revoked"]


def test_the_log_and_metrics_hold_public_facts_only(served: Served) -> None:
    with served.client("ana") as ana:
        asked = {"ask": "sum(bmi) where days < 59", "epsilon": "0.1"}
        reply = ana.post("/tables/patients/ask?secret=hunter2", json=asked)
        value = str(reply.json()["releases"][0]["value"])
    metrics = httpx.get(f"{served.url}/metrics").text
    text = served.log.read_text()
    for hidden in (value, "hunter2", "days < 59", *served.tokens.values(), "Traceback"):
        assert hidden not in text
        assert hidden not in metrics
    assert '"route": "/api/v1/tables/{table}/ask"' in text
    assert 'route="/api/v1/tables/{table}/ask"' in metrics


# The client


def test_a_remote_table_works_as_a_table_does(served: Served) -> None:
    remote = dp.connect(served.url, served.tokens["ana"])
    assert remote.tables() == ["patients"]
    table = remote.table("patients")
    plan = table.plan(dp.stats.Mean("age"), epsilon="0.02")
    assert plan.total == dp.Cost.of("0.02")
    mean = dp.stats.mean(table, "age", epsilon="0.02")
    assert mean.low <= mean.value <= mean.high
    assert mean.receipt is not None
    assert not mean.simulated
    again = dp.stats.mean(table, "age", epsilon="0.02")
    assert (again.value, again.receipt) == (mean.value, mean.receipt)
    old = table.where(dp.col("age") >= 65).with_columns(long="days > 10")
    assert "where age >= 65" in dp.stats.count(old, epsilon="0.02").label
    groups = dp.stats.histogram(table, "age", bins=[20, 60], epsilon="0.02")
    assert len(groups.keys) == len(groups.value)
    assert table.left()["budgets"]["analyst"]["left"] < 2
    remote.close()


def test_a_model_is_fitted_from_afar(served: Served) -> None:
    remote = dp.connect(served.url, served.tokens["ana"])
    table = remote.table("patients")
    model = NaiveBayes(epsilon="0.1").fit(table)
    assert model.privacy_.receipt.seq > 0
    (entry,) = [e for e in remote.history() if e["label"] == "fit NaiveBayes"]
    judged = table.evaluate(entry["id"], epsilon="0.1")
    assert judged.accuracy is not None
    assert judged.on_these_rows is not None
    rows = {name: [1, 2] for name in ("age", "bmi", "days")}
    rows |= {"sex": ["f", "m"], "region": ["north"] * 2, "smoker": ["no"] * 2}
    import pandas as pd

    assert set(model.predict(pd.DataFrame(rows))) <= {"no", "yes"}
    numbers = table.select("age", "bmi", "days")
    centres = KMeans(2, epsilon="0.1", max_iter=2).fit(numbers).cluster_centers_
    assert centres.shape == (2, 3)
    remote.close()


def test_approval_is_requested_from_afar(served: Served) -> None:
    remote = dp.connect(served.url, served.tokens["ana"])
    table = remote.table("patients")
    with pytest.raises(BudgetError, match=r"table\.request\("):
        dp.stats.mean(table, "bmi", epsilon="0.6")
    asked = table.request([dp.stats.Mean("bmi")], epsilon="0.6", comment="a report")
    assert asked["status"] == "waiting"
    owner = dp.connect(served.url, served.tokens["olga"])
    path = f"/tables/patients/requests/ana/{asked['id']}"
    owner.call("POST", path, {"approved": True, "comment": "once"})
    (mine,) = [one for one in remote.requests() if one["id"] == asked["id"]]
    assert (mine["status"], mine["comment"]) == ("approved", "a report")
    assert dp.stats.mean(table, "bmi", epsilon="0.6").receipt is not None
    owner.close()
    remote.close()


def test_models_are_compared_from_afar(served: Served) -> None:
    remote = dp.connect(served.url, served.tokens["bo"])
    table = remote.table("patients").select("age", "bmi", "readmitted")
    before = table.left()["budgets"]
    found = table.compare("readmitted", epsilons=["1"], rows=100)
    assert found["simulated"]
    assert found["scores"]
    assert table.left()["budgets"] == before  # free
    remote.close()


def test_refusals_are_the_errors_that_they_are(served: Served) -> None:
    remote = dp.connect(served.url, served.tokens["bo"])
    table = remote.table("patients")
    with pytest.raises(DomainError):
        dp.stats.mean(table, "height", epsilon="0.1")
    with pytest.raises(BudgetError, match="one question"):
        dp.stats.mean(table, "age", epsilon="0.7")
    with pytest.raises(ParameterError, match="leave out the key"):
        dp.stats.mean(table, "age", epsilon="0.1", key="x")
    with pytest.raises(UnsafeError, match="in a service"):
        table.gate()
    with pytest.raises(dp.DiscretoError):
        remote.table("staff")
    with pytest.raises(ParameterError, match="in the open"):
        dp.connect("http://data.example.org", "x")
    remote.close()


# Neighbours


def test_no_reply_tells_neighbouring_tables_apart(tmp_path: Path) -> None:
    """The same requests to two services whose tables differ by one odd row."""
    for name in ("one", "two"):
        write_demo(tmp_path / name, rows=300)
    path = tmp_path / "two" / "patients.parquet"
    table = parquet.read_table(path)
    odd = {n: pa.array([table[n][0].as_py()]) for n in table.column_names}
    odd |= {"sex": pa.array([None], pa.string()), "age": pa.array([1e9])}
    odd = {n: a.cast(table.schema.field(n).type) for n, a in odd.items()}
    parquet.write_table(pa.concat_tables([table, pa.table(odd)]), path)
    both = [
        Served(tmp_path / name, edit={'ceiling = "0.5"': ""}) for name in ("one", "two")
    ]
    coins = random.Random(5)
    asks: list[Any] = [*HOSTILE]
    for line in (
        "count() by sex",
        "max(age)",
        "mean(age) where sex == 'f'",
        "mode(sex)",
    ):
        asks.append({"ask": line, "epsilon": f"0.0{coins.randint(1, 9)}"})
    try:
        for body in asks:
            shapes = []
            for one in both:
                with one.client("ana") as ana:
                    reply = ana.post("/tables/patients/ask", content=json.dumps(body))
                shapes.append((reply.status_code, shape(reply.json())))
            assert shapes[0] == shapes[1], body
    finally:
        for one in both:
            one.stop()


def shape(data: Any) -> Any:
    """JSON without its numbers and hashes, and without what noise decides."""
    if isinstance(data, dict):
        return {
            key: "noisy" if key in ("value", "low", "high") else shape(value)
            for key, value in data.items()
            if key != "note"
        }
    if isinstance(data, list):
        return [shape(one) for one in data]
    if isinstance(data, str) and re.fullmatch("[0-9a-f]{32,64}", data):
        return "hash"
    return "number" if isinstance(data, int | float) else data
