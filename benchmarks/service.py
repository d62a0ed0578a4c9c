# ruff: noqa: E402 - helpers of the tests are found by a path
"""A service under attack, under kill -9, under load, and under a stopwatch.

    python benchmarks/service.py hostile --requests 10000
    python benchmarks/service.py kill --rounds 200 --minutes 30
    python benchmarks/service.py speed --seconds 20
    python benchmarks/service.py million
    python benchmarks/service.py timing --requests 10000

Real processes on loopback: workers of ``discreto serve``, PostgreSQL for the ledger and
the state (``kill`` and ``speed``), clients in threads of this process. Every run is
bounded and prints what it counted as JSON; the exit code is 1 if anything that must be
0 is not.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import os
import random
import re
import signal
import string
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "integration")]

from postgres import Postgres
from served import Served

import discreto as dp
from discreto.service.demo import write_demo

FAST = "\n[limits]\nper_second = 100000\nseconds = 30\n"
NAMES = ("ana", "bo")
RICH = {
    "epsilon = 5\n": "epsilon = 100000\n",
    "{ ana = 2, bo = 1 }": "{ ana = 50000, bo = 50000 }",
    'ceiling = "0.5"': "",
}


STARTED: list[Served | Postgres] = []  # ended with this process, however it ends


def started(one: Any) -> Any:
    """Remember a process that was started."""
    STARTED.append(one)
    return one


def neighbours(folder: Path, more: str, people: Sequence[str] = NAMES) -> list[Served]:
    """Two services whose tables differ by one row, which is unlike any other."""
    import pyarrow as pa
    from pyarrow import parquet

    for name in ("one", "two"):
        write_demo(folder / name, rows=1000)
    path = folder / "two" / "patients.parquet"
    table = parquet.read_table(path)
    odd = {n: pa.array([table[n][0].as_py()]) for n in table.column_names}
    odd |= {"sex": pa.array(["?"]), "age": pa.array([1e300]), "days": pa.array([-1e9])}
    odd = {n: a.cast(table.schema.field(n).type) for n, a in odd.items()}
    parquet.write_table(pa.concat_tables([table, pa.table(odd)]), path)
    budgets = ", ".join(f"{name} = 20000" for name in people)
    edit = RICH | {"{ ana = 2, bo = 1 }": f"{{ {budgets} }}"}
    return [started(Served(folder / n, edit=edit, more=more)) for n in ("one", "two")]


# Hostile requests

GOOD: list[dict[str, Any]] = [
    {"ask": "mean(age) by sex", "epsilon": "0.001"},
    {"ask": "count() where age > 60 by region", "epsilon": "0.001"},
    {"ask": ["max(days)", "mode(sex)"], "epsilon": "0.001"},
    {"statistic": {"kind": "Histogram", "columns": ["age"], "bins": 5}, "epsilon": 1},
    {"statistic": {"kind": "Quantile", "column": "bmi"}, "epsilon": 0.001},
    {"fit": {"model": "NaiveBayes", "params": {"alpha": 1.0}}, "epsilon": "0.01"},
    {"ask": "mean(bmi / age)", "view": [], "delta": "1e-6", "epsilon": "0.001"},
]
ODD: list[Any] = [
    *(None, True, -1, 0, 1e308, -1e308, 2**63, 2**70, "", "x" * 3000, "NaN", [], {}),
    *([[]] * 3, {"kind": "Mean"}, "1/0", "1e999", "\u0000", "\u202e", "'; --", "../"),
    *("{{7*7}}", "%s%n", "age", "sex", {"a": {"a": {"a": {}}}}, [1] * 500, "é" * 200),
]
PATHS = (
    *("ask", "plan", "jobs", "requests", "../ask", "ask/..", "%2e%2e/ask", "ask%00"),
    *("answers/x", "answers/x/predict", "ask?x=1", "ASK", "ask/", ""),
)


def odd(coins: random.Random) -> Any:
    """Something that does not belong there."""
    return json.loads(json.dumps(coins.choice(ODD)))


def mutated(body: Any, coins: random.Random) -> Any:
    """A body with some part replaced, doubled or taken away."""
    data = json.loads(json.dumps(body))
    for _ in range(coins.randint(0, 3)):
        place = data
        while isinstance(place, dict | list) and place and coins.random() < 0.6:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = coins.choice(keys)
            if isinstance(place[key], dict | list) and place[key]:
                place = place[key]
                continue
            place[key] = odd(coins)
        if isinstance(place, dict) and coins.random() < 0.3:
            place["".join(coins.choices(string.printable, k=5))] = odd(coins)
        elif isinstance(place, dict) and place and coins.random() < 0.2:
            place.pop(coins.choice(list(place)))
    return data


def hostile_request(coins: random.Random) -> dict[str, Any]:
    """A request that means no good, or is just a good one."""
    kind, path = coins.random(), coins.choice(PATHS[:4])
    table = "patients"
    headers: dict[str, str] = {"content-type": "application/json"}
    body = coins.choice(GOOD) | {"again": coins.randint(0, 10**5)}
    content = json.dumps(mutated(body, coins)).encode()
    if kind < 0.1:
        content = coins.randbytes(coins.choice([0, 1, 50, 5000]))
    elif kind < 0.15:
        content = content[: coins.randint(0, len(content))]
    elif kind < 0.17:
        content = b" " * (1 << 17)
    elif kind < 0.25:
        path = coins.choice(PATHS)
        table = coins.choice(["patients", "..", "%2fetc", "staff", "patients%00"])
    elif kind < 0.3:
        headers["authorization"] = coins.choice(
            ["", "Bearer", "Bearer x.y", "Basic x", "Bearer " + "a" * 2000]
        )
    elif kind < 0.33:
        headers["content-type"] = coins.choice(["", "text/plain", "x/y; charset=z"])
    return {
        "method": coins.choice(["POST"] * 12 + ["GET", "PUT", "DELETE", "PATCH"]),
        "url": f"/tables/{table}/{path}",
        "content": content,
        "headers": headers,
    }


def shape(data: Any) -> Any:
    """JSON without what noise and chance decide: numbers, hashes, ids, noisy texts.

    A note is one of them: whether an interval is as wide as a range follows from it.
    What a fitted model consists of may follow from numbers that were released: naive
    Bayes has votes only if they seem worth it. ``Attack.forms`` counts such forms.
    """
    if isinstance(data, dict):
        if "discreto_model" in data:
            data = data | {"state": "noisy"}
        texts = [k for k in ("value", "low", "high") if isinstance(data.get(k), str)]
        known = data | dict.fromkeys(texts, "noisy")
        return {k: shape(v) for k, v in known.items() if k != "note"}
    if isinstance(data, list):
        return [shape(one) for one in data]
    if isinstance(data, str) and re.fullmatch("[0-9a-f]{16,64}", data):
        return "hash"
    number = isinstance(data, int | float) and not isinstance(data, bool)
    return "number" if number or data in ("nan", "inf", "-inf") else data


def first_difference(one: Any, two: Any, place: str = "") -> list[str]:
    """Where two shapes differ."""
    if isinstance(one, dict) and isinstance(two, dict) and set(one) == set(two):
        pairs = [(key, one[key], two[key]) for key in one]
    elif isinstance(one, list | tuple) and len(one) == len(two):
        pairs = [(str(k), *pair) for k, pair in enumerate(zip(one, two, strict=True))]
    else:
        return [place, str(one)[:200], str(two)[:200]]
    for key, a, b in pairs:
        if a != b:
            return first_difference(a, b, f"{place}/{key}")
    return []


def replied(client: httpx.Client, request: dict[str, Any]) -> tuple[int, Any]:
    """The status and data of a reply; of a job, when it has ended.

    What comes next may depend on whether the job was paid, so it is waited for.
    """
    try:
        reply = client.request(**request)
    except httpx.HTTPError as error:
        # Who sends too much may find the line closed before the reply is read.
        large = len(request["content"]) > 1 << 16
        return (413, CUT) if large else (0, type(error).__name__)
    if reply.status_code == 413:
        return 413, CUT
    if "json" not in reply.headers.get("content-type", ""):
        return reply.status_code, reply.text
    data = reply.json()
    end = time.monotonic() + 120
    while "progress" in data and data["status"] in ("waiting", "running"):
        if time.monotonic() > end:
            return 0, "a job without an end"
        time.sleep(0.02)
        data = client.get(f"/jobs/{data['job']}").json()
    return reply.status_code, data


CUT = "too large"


class Attack:
    """The same hostile requests to neighbouring tables, in the name of one analyst.

    Nobody else has this name, so that the only thing that can make replies differ is
    the row in which the tables do.
    """

    def __init__(self, both: list[Served], name: str, seed: int) -> None:
        self._clients = [one.client(name) for one in both]
        self._name, self._coins = name, random.Random(f"{seed} {name}")
        self.found, self.sent = Counter[str](), 0
        self.different: list[Any] = []
        self.answers: list[set[str]] = [set(), set()]
        self.forms = [Counter[str](), Counter[str]()]  # of models, for each table

    def run(self, count: int) -> None:
        """Send so many requests to each."""
        for _ in range(count):
            request = hostile_request(self._coins)
            seen = []
            for place, client in enumerate(self._clients):
                status, data = replied(client, request)
                self.found[str(status)] += 1
                if isinstance(data, dict) and "receipt" in json.dumps(data):
                    self.answers[place].add(f"{self._name} {data.get('id')}")
                seen.append((status, shape(data)))
                if isinstance(data, dict) and "model" in data:
                    state = shape(data["model"]["state"])
                    self.forms[place][json.dumps(state, sort_keys=True)] += 1
            self.sent += 1
            if seen[0] != seen[1]:
                self.different.append([request["url"], *first_difference(*seen)])
        for client in self._clients:
            client.close()


def odds_of_forms(attacks: list[Attack]) -> float:
    """How likely forms of models that differ as much are, if rows do not matter."""
    from scipy.stats import fisher_exact

    one, two = (
        sum((attack.forms[place] for attack in attacks), Counter[str]())
        for place in (0, 1)
    )
    odds = 1.0
    for form in one | two:
        table = [[c[form], c.total() - c[form]] for c in (one, two)]
        odds = min(odds, float(fisher_exact(table).pvalue))
    return odds


def hostile(folder: Path, requests: int, seed: int) -> dict[str, Any]:
    """The same hostile requests of four analysts to neighbouring tables."""
    names = [f"h{k}" for k in range(4)]
    more = "".join(f'\n[people.{name}]\nrole = "analyst"\n' for name in names)
    both = neighbours(folder, more + FAST + "time_bucket = 0.001\n", names)
    attacks = [Attack(both, name, seed) for name in names]
    threads = [
        threading.Thread(target=one.run, args=(requests // 4,)) for one in attacks
    ]
    slow = threading.Thread(target=slow_senders, args=(both, 10))
    start = time.monotonic()
    for thread in (*threads, slow):
        thread.start()
    for thread in (*threads, slow):
        thread.join()
    seconds = time.monotonic() - start
    found = sum((one.found for one in attacks), Counter[str]())
    different = [one for attack in attacks for one in attack.different]
    uncharged = unanswered = 0
    for place, one in enumerate(both):
        one.stop()
        ledger = dp.Ledger(one.config.parent / "patients.ledger")
        charged = {
            f"{e['analyst']} {e['event']['id']}"
            for e in ledger.entries()
            if e["event"].get("service") == "ask"
        }
        told = set().union(*(attack.answers[place] for attack in attacks))
        uncharged += len(told - charged)
        died = {e["event"].get("entry") for e in ledger.entries()}
        unanswered += sum(e["seq"] not in died for _, e in ledger.unanswered())
        ledger.verify()
    text = "".join(one.log.read_text() for one in both)
    sent = sum(one.sent for one in attacks)
    return {
        "requests to each": sent,
        "replies": dict(sorted(found.items())),
        "answers": sum(len(one) for attack in attacks for one in attack.answers),
        "unhandled errors": found["500"] + found["0"] + text.count("Traceback"),
        "replies that differ": len(different),
        "models": [sum(a.forms[k].total() for a in attacks) for k in (0, 1)],
        "forms of models": len(set().union(*(f for a in attacks for f in a.forms))),
        "forms that tell tables apart": int(odds_of_forms(attacks) < 1e-6),
        "answers without a charge": uncharged,
        "charges without an answer": unanswered,
        "requests that were not sent": requests // 4 * 4 - sent,
        "seconds": round(seconds, 1),
        "examples": different[:5],
    }


def slow_senders(both: list[Served], count: int) -> None:
    """Connections that send a byte now and then."""
    import socket

    for one in both:
        wires = [
            socket.create_connection(("127.0.0.1", one.port)) for _ in range(count)
        ]
        for _ in range(5):
            for wire in wires:
                try:
                    wire.sendall(b"P")
                except OSError:
                    continue
            time.sleep(0.3)
        for wire in wires:
            wire.close()


# Kill -9


def on_postgres(folder: Path, server: Postgres, people: int, more: str) -> Served:
    """A service whose ledger and state are in PostgreSQL."""
    names = [f"a{k}" for k in range(people)]
    budgets = ", ".join(f"{name} = 1000" for name in names)
    edit = {
        'path = "patients.ledger"': f'path = "{server.url}#patients"',
        'state = "service.state"': f'state = "{server.url}#state"',
        "epsilon = 5\n": "epsilon = 100000\n",
        "{ ana = 2, bo = 1 }": f"{{ {budgets} }}",
        'ceiling = "0.5"': "",
    }
    roles = "".join(f'\n[people.{name}]\nrole = "analyst"\n' for name in names)
    return started(
        Served(folder, rows=1000, workers=2, edit=edit, more=roles + FAST + more)
    )


def kill_worker(served: Served, coins: random.Random) -> None:
    """Kill one of the processes that answer."""
    while True:
        try:
            os.kill(coins.choice(served.worker_pids()), signal.SIGKILL)
            return
        except (ProcessLookupError, IndexError):  # the one before is just replaced
            time.sleep(0.02)


def kill(folder: Path, rounds: int, minutes: float, seed: int) -> dict[str, Any]:
    """Kill workers and PostgreSQL under eight analysts."""
    coins, server = random.Random(seed), started(Postgres())
    served = on_postgres(folder, server, 8, "time_bucket = 0.001\npatience = 5\n")
    told: dict[str, set[tuple[int, str]]] = {f"a{k}": set() for k in range(8)}
    stop, successes, lock = threading.Event(), [0], threading.Lock()

    def analyst(name: str) -> None:
        client, number = served.client(name), 0
        while not stop.is_set():
            body = {"ask": "count()", "epsilon": "0.001", "again": number}
            try:
                reply = client.post("/tables/patients/ask", json=body)
                receipt = reply.json()["releases"][0]["receipt"]
            except (httpx.HTTPError, ValueError, KeyError):
                time.sleep(0.05)
                continue  # the same question again
            with lock:
                told[name].add((receipt["seq"], receipt["hash"]))
                successes[0] += 1
            number += 1
            time.sleep(0.02)
        client.close()

    threads = [threading.Thread(target=analyst, args=(name,)) for name in told]
    for thread in threads:
        thread.start()
    waits, kinds = [], Counter[str]()
    end = time.monotonic() + 60 * minutes
    try:
        for number in range(rounds):
            if time.monotonic() > end:
                break
            time.sleep(coins.uniform(0.1, 0.6))
            before = successes[0]
            if number % 8 == 7:
                server.kill()
                server.start()
                kinds["postgres"] += 1
            else:
                kill_worker(served, coins)
                kinds["worker"] += 1
            start = time.monotonic()
            while successes[0] == before and time.monotonic() < start + 60:
                time.sleep(0.01)
            waits.append(time.monotonic() - start)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    time.sleep(8)  # until work that died is said to have
    served.stop()
    ledger = dp.Ledger(f"{server.url}#patients")
    charged = {(e["seq"], e["hash"]) for e in ledger.entries()}
    entries = ledger.entries()
    died = {e["event"].get("entry") for e in entries}
    open_ = [e["seq"] for _, e in ledger.unanswered() if e["seq"] not in died]
    over = sum(ledger.spent(name).epsilon > 1000 for name in told)
    verified = ledger.verify()
    ledger.close()
    server.stop()
    released = set().union(*told.values())
    return {
        "rounds": len(waits),
        "kills": dict(kinds),
        "answers": len(released),
        "charges": len(charged),
        "uncharged releases": len(released - charged),
        "overspend": over,
        "charges without an answer or a word": len(open_),
        "entries verified": verified,
        "slowest return (s)": round(max(waits), 2),
        "median return (s)": round(float(np.median(waits)), 2),
        "returns over 10 s": sum(wait > 10 for wait in waits),
    }


# Speed


def fsyncs(folder: Path, seconds: float = 2.0) -> float:
    """How often a small append can be synced."""
    handle = os.open(folder / "raw", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    count, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        os.write(handle, bytes(8192))
        os.fsync(handle)
        count += 1
    os.close(handle)
    return count / seconds


def cpu_seconds(*roots: int) -> float:
    """What these processes and all below them have worked so far."""
    ticks, waiting = 0, list(roots)
    while waiting:
        pid = waiting.pop()
        try:
            facts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            below = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(facts[11]) + int(facts[12])
        waiting += map(int, below)
    return ticks / os.sysconf("SC_CLK_TCK")


class Caller:
    """A client that takes little work itself: one line, kept open."""

    def __init__(self, served: Served, name: str) -> None:
        self._wire = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        self._headers = {
            "authorization": f"Bearer {served.tokens[name]}",
            "content-type": "application/json",
        }

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """A request; the status and the data of its reply."""
        content = None if body is None else json.dumps(body)
        self._wire.request(method, f"/api/v1{path}", content, self._headers)
        reply = self._wire.getresponse()
        return reply.status, json.loads(reply.read())


def speed(folder: Path, seconds: float, people: int) -> dict[str, Any]:
    """Counts of many analysts at once."""
    server = started(Postgres())
    raw = fsyncs(folder)
    served = on_postgres(folder, server, people, "time_bucket = 0.1\n")
    times: list[float] = []
    failed = Counter[str]()
    lock, ready = threading.Lock(), threading.Barrier(people + 1)

    def analyst(name: str) -> None:
        client = Caller(served, name)
        for _ in range(4):  # both workers know this token: the slow hash is done
            client.send("GET", "/me")
        ready.wait()
        end = time.monotonic() + seconds
        for number in itertools.count():
            if time.monotonic() > end:
                return
            body = {"ask": "count()", "epsilon": "0.001", "again": number}
            start = time.monotonic()
            status, data = client.send("POST", "/tables/patients/ask", body)
            with lock:
                if status == 200:
                    times.append(time.monotonic() - start)
                else:
                    failed[data["error"]] += 1

    threads = [threading.Thread(target=analyst, args=(f"a{k}",)) for k in range(people)]
    for thread in threads:
        thread.start()
    ready.wait()
    before = cpu_seconds(served.process.pid, server.pid)
    for thread in threads:
        thread.join()
    spent = cpu_seconds(served.process.pid, server.pid) - before
    served.stop()
    server.stop()
    raw = (raw + fsyncs(folder)) / 2
    rate = len(times) / seconds
    return {
        "analysts": people,
        "counts a second": round(rate, 1),
        "raw fsyncs a second": round(raw, 1),
        # Each count is two commits: its charge before a row is read, and its answer.
        "share of what fsync allows": round(2 * rate / raw, 3),
        "CPU of service and PostgreSQL for a count (ms)": round(
            1000 * spent / max(1, len(times)), 2
        ),
        "counts a second that two idle cores could do": round(
            2 * len(times) / spent, 1
        ),
        "median (s)": round(float(np.median(times)), 3),
        "p99 (s)": round(float(np.quantile(times, 0.99)), 3),
        "refused": dict(failed),
    }


def million(folder: Path) -> dict[str, Any]:
    """Means of a million rows, one after another."""
    write_demo(folder, rows=1_000_000)
    served = started(Served(folder, edit=RICH, more=FAST + "time_bucket = 0.1\n"))
    times = []
    with served.client("ana") as client:
        for number in range(100):
            body = {"ask": "mean(age)", "epsilon": "0.01", "again": number}
            start = time.monotonic()
            client.post("/tables/patients/ask", json=body).raise_for_status()
            times.append(time.monotonic() - start)
    served.stop()
    return {"p99 of a mean of 10^6 rows (s)": round(float(np.quantile(times, 0.99)), 3)}


# Timing


def timing(folder: Path, requests: int) -> dict[str, Any]:
    """Whether a classifier tells neighbouring tables apart by response times."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    both = neighbours(folder, FAST + "time_bucket = 0.1\n")
    times: list[list[float]] = [[], []]
    lock = threading.Lock()

    def watch(number: int, count: int) -> None:
        clients = [one.client(NAMES[number % 2]) for one in both]
        coins = random.Random(number)
        for turn in range(count):
            body = {"ask": "max(age)", "epsilon": "0.01"}
            body["again"] = number * 10**5 + turn
            order = [0, 1] if coins.random() < 0.5 else [1, 0]
            for place in order:
                start = time.monotonic()
                clients[place].post("/tables/patients/ask", json=body)
                with lock:
                    times[place].append(time.monotonic() - start)
        for client in clients:
            client.close()

    threads = [
        threading.Thread(target=watch, args=(k, requests // 8)) for k in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in both:
        one.stop()
    x = np.concatenate(times)[:, None]
    y = np.repeat([0, 1], [len(times[0]), len(times[1])])
    mixed = np.random.default_rng(0).permutation(len(x))
    half = len(x) // 2
    model = HistGradientBoostingClassifier(max_depth=4, random_state=0)
    model.fit(x[mixed[:half]], y[mixed[:half]])
    right = model.predict(x[mixed[half:]]) == y[mixed[half:]]
    accuracy, wide = right.mean(), 2.576 * 0.5 / np.sqrt(len(right))
    return {
        "times of each": len(times[0]),
        "accuracy": round(float(accuracy), 4),
        "99 % interval of a guess": [round(0.5 - wide, 4), round(0.5 + wide, 4)],
        "told apart": int(abs(accuracy - 0.5) > wide),
        "medians (s)": [round(float(np.median(one)), 4) for one in times],
    }


ZERO = (
    "requests that were not sent",
    *("unhandled errors", "replies that differ", "answers without a charge"),
    "forms that tell tables apart",
    *("charges without an answer", "uncharged releases", "overspend", "told apart"),
    *("charges without an answer or a word", "returns over 10 s"),
)


def end_all() -> int:
    """Stop what was started here."""
    for one in STARTED:
        one.stop()
    return 1


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "what", choices=["hostile", "kill", "speed", "million", "timing"]
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        facts = {
            "hostile": lambda: hostile(folder, options.requests, options.seed),
            "kill": lambda: kill(folder, options.rounds, options.minutes, options.seed),
            "speed": lambda: speed(folder, options.seconds, options.people),
            "million": lambda: million(folder),
            "timing": lambda: timing(folder, options.requests),
        }[options.what]()
    print(json.dumps(facts, indent=1, ensure_ascii=False))
    return int(any(facts.get(name) for name in ZERO))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(end_all()))
    try:
        code = main()
    finally:
        end_all()
    sys.exit(code)
