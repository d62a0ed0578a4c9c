"""One hostile message at a time, put to the same silo over different rows.

A trial says what came of a message on every table: the kind of reply, its form, the
error and its text. All of that must be the same on all tables, a refusal must not
charge, no warning may be shown, and no error but our own may come out.
"""

from __future__ import annotations

import json
import random
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import asked
import numpy as np
from mutations import deep, junk, mutate, nudge, parts_of, rescale
from replies import adds_up, count, form, is_large, text

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.maps import from_json, predictions, to_json
from discreto.core.query import Block, Choice, Randomise, Sum
from discreto.errors import DiscretoError, KernelFault
from discreto.federated import Policy, Silo, messages
from discreto.models.interop import json as persist
from discreto.testing import simulate
from discreto.text.toml_config import read_section

SECONDS = 20  # a message that takes longer is counted as a crash
FRESH = 200  # messages after which ledgers are made anew


@dataclass(frozen=True)
class Said:
    """A file with one section."""

    policy: Policy = field(default_factory=Policy)


class TooLongError(KeyboardInterrupt):
    """Passes through everything that catches errors."""


class Trials:
    """Random messages of all kinds, and what comes of them."""

    def __init__(self, seed: int, ledger: Callable[[], Any] | None = None) -> None:
        self.coins = random.Random(seed)
        self._exact = ledger is None  # without noise a row's part can be seen
        self._ledger = ledger or (lambda: simulate(0, noise=False))
        self._sent, self._silos, self.seconds = 0, {}, 0.0

    # What is sent

    @cached_property
    def _questions(self) -> list[Any]:
        return asked.questions()

    @cached_property
    def pool(self) -> list[Any]:
        """Parts that may turn up where they do not belong."""
        found = [part for q in self._questions for part in parts_of(to_json(q))]
        return [*found, *asked.COLUMNS, "no such column"]

    def _question(self, kind: type) -> Any:
        fit = [query for query in self._questions if isinstance(query, kind)]
        return to_json(self.coins.choice(fit))

    def changed(self, data: Any) -> Any:
        """Something valid, mostly with one place changed."""
        for _ in range(self.coins.choice([0, 1, 1, 1, 1, 1, 1, 2, 2, 3])):
            if self.coins.random() < 0.5:
                data = nudge(data, self.coins, list(asked.COLUMNS))
                continue
            stop = self.coins.choice([0.05, 0.2, 0.4])
            data = mutate(data, self.coins, self.pool, stop)
        return data

    def _message(self, question: Any, **rest: Any) -> Any:
        """A message, changed in its question or elsewhere."""
        schema = messages.schema_of(asked.DOMAIN)
        if self.coins.random() < 0.1:
            question = rescale(question, self.coins)
        if self.coins.random() < 0.75:
            question = self.changed(question)
            return {"discreto": 1, "schema": schema, "question": question, **rest}
        message = {"discreto": 1, "schema": schema, **rest, "question": question}
        return self.changed(message)

    def measure(self) -> Any:
        name = self.coins.choice(["epsilon", "epsilon", "rho"])
        amount = self.coins.choice(["1", "1/3", "0.001", "20"])
        return self._message(
            self._question(Sum),
            kind="measure",
            id=f"m{self._sent}",
            label="sums",
            cost={name: amount},
        )

    def _round(self, question: Any, move: dict[str, Any], steps: int) -> Any:
        terms = messages.Terms.of(1, "1e-5", 3, steps).to_dict()
        return self._message(
            question,
            kind="round",
            run=f"r{self._sent}",
            round=0,
            terms=terms,
            move=move,
        )

    def sums_round(self) -> Any:
        return self._round(self._question(Sum), {"kind": "sums"}, 2)

    def steps_round(self) -> Any:
        return self._round(self._gradient(), {"kind": "steps", "rate": 0.1}, 2)

    def proximal_round(self) -> Any:
        move = {"kind": "proximal", "mu": 1.0, "rows": 12.0}
        return self._round(self._gradient(), move, 1)

    def _gradient(self) -> Any:
        gradient = self.coins.choice([asked.GRADIENT, asked.YES_GRADIENT])
        return to_json(asked._all(gradient))

    def choice(self) -> Any:
        return self.changed(self._question(Choice))

    def randomise(self) -> Any:
        return self.changed(self._question(Randomise))

    def nonsense(self) -> Any:
        odd = [messages.hello(), deep(5000), {}, [], None, junk(self.coins, self.pool)]
        return self.changed(self.coins.choice(odd))

    def domain(self) -> Any:
        return self.changed(asked.DOMAIN.to_dict())

    def policy(self) -> Any:
        return self.changed(
            {
                "questions": ["Ones", "Values", "Bins"],
                "partners": {"me": 1},
                "per_round": "1/2",
                "least_noise": 0.5,
                "most_steps": 10,
            }
        )

    def model(self) -> Any:
        model = self.coins.choice(asked.fitted())
        data = json.loads(persist.dumps(model))
        if self.coins.random() < 0.7:
            return data | {"state": self.changed(data["state"])}
        return self.changed(data)

    def release(self) -> Any:
        silo = self._silo("plain", asked.DOMAIN, asked.TABLES["plain"])
        query = self.coins.choice([q for q in self._questions if isinstance(q, Sum)])
        message = messages.measure(
            query, Cost.of(1), "x", f"v{self._sent}", silo.schema
        )
        return self.changed(silo.answer(message))

    # What comes of it

    def draw(self) -> str:
        """A kind of message, the more telling ones more often."""
        return self.coins.choices(list(KINDS), list(KINDS.values()))[0]

    def run(self, kind: str) -> tuple[str, list[str]]:
        """What came of a random message of a kind, and what was wrong with that."""
        self._sent += 1
        if self._sent % FRESH == 0:
            self._silos.clear()
        try:
            data = getattr(self, kind)()
        except (ValueError, OverflowError):  # numbers that cannot be made
            return "not made", []
        asks = data.get("question") if isinstance(data, dict) else None
        if is_large(data if asks is None else asks):
            return "large", []
        judge = getattr(self, f"_judge_{kind}", self.judge_message)
        # Seconds of work: other processes may keep this one waiting.
        old = signal.signal(signal.SIGPROF, _stop)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        begun = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as shown:
                warnings.simplefilter("always")
                said, wrong = judge(data)
        except TooLongError:
            said, wrong = "too long", ["crash: too long"]
        except DiscretoError as error:  # outside of what a judge expects
            said, wrong = type(error).__name__, [f"crash: {type(error).__name__}"]
        except Exception as error:
            said, wrong = type(error).__name__, [f"crash: {error!r:.200}"]
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, old)
        self.seconds = time.perf_counter() - begun
        wrong = wrong + [f"warning: {w.message}" for w in shown]
        if wrong:
            wrong.append(f"message: {text(data)}")
        return said, wrong

    def _silo(self, name: str, domain: Any, rows: Any) -> Any:
        key = name, domain.neighbours
        if key not in self._silos:
            table = dp.Table(rows, domain, self._ledger())
            self._silos[key] = Silo(table, rows=asked.ROWS)
        return self._silos[key]

    def judge_message(self, message: Any) -> tuple[str, list[str]]:
        """What comes of a message to a silo over each of the tables."""
        said, tables, wrong = {}, {}, []
        for name, rows in asked.TABLES.items():
            silo = self._silo(name, asked.DOMAIN, rows)
            before = count(silo.ledger)
            reply = silo.answer(message)
            paid = count(silo.ledger) - before
            said[name] = form(reply)
            tables[name] = reply.get("tables")
            if reply["kind"] == "refusal" and paid:
                wrong.append("refused, but charged")
            if paid and reply.get("error") == "KernelFault":
                wrong.append("crash: behind the silo")
        if len(set(said.values())) > 1:
            wrong.append(f"difference: {said}")
        elif self._exact and tables["none"] and not adds_up(message, tables):
            wrong.append("difference: a row changed another row's part")
        first = next(iter(said.values()))
        return first[1] or first[0], wrong

    def _gate(self, data: Any, domain: Any, several: Any) -> tuple[str, list[str]]:
        try:
            query = from_json(data)
        except DiscretoError as error:
            return type(error).__name__, []
        said, wrong = {}, []
        for name, rows in several.items():
            ledger = self._ledger()
            gate = dp.Table(rows, domain, ledger).gate()
            doors = {Sum: gate.measure, Choice: gate.select, Randomise: gate.randomise}
            try:
                answer = doors[type(query)](query, Cost.of(1), "q")
                shown = getattr(answer, "indices", answer)
                said[name] = ("release", "", np.shape(shown))
            except KernelFault:
                said[name] = ("KernelFault",)
                wrong.append("crash: behind the gate")
            except DiscretoError as error:
                said[name] = (type(error).__name__, str(error))
                if count(ledger):
                    wrong.append("refused, but charged")
        if len(set(said.values())) > 1:
            wrong.append(f"difference: {said}")
        return next(iter(said.values()))[0], wrong

    def _judge_choice(self, data: Any) -> tuple[str, list[str]]:
        return self._gate(data, asked.DOMAIN, asked.TABLES)

    def _judge_randomise(self, data: Any) -> tuple[str, list[str]]:
        return self._gate(data, asked.REPLACE, asked.SAME_SIZE)

    def _judge_domain(self, data: Any) -> tuple[str, list[str]]:
        try:
            domain = dp.Domain.from_dict(data)
        except DiscretoError as error:
            return type(error).__name__, []
        again = dp.Domain.from_dict(json.loads(json.dumps(domain.to_dict())))
        same = again == domain and again.fingerprint == domain.fingerprint
        return "accepted", [] if same else ["crash: another domain"]

    def _judge_policy(self, data: Any) -> tuple[str, list[str]]:
        try:
            made = read_section(Said, {"policy": data}, "f", Path()).policy
        except DiscretoError as error:
            return type(error).__name__, []
        query = self.coins.choice([q for q in self._questions if isinstance(q, Sum)])
        table = dp.Table(asked.PLAIN, asked.DOMAIN, self._ledger())
        silo = Silo(table, made)
        partner = next(iter(made.partners), "me")
        wrong = []
        for message in (
            messages.hello(),
            messages.measure(query, Cost.of(1), "x", "x", silo.schema),
        ):
            reply = silo.answer(message, partner)
            if reply.get("error") == "KernelFault":
                wrong.append("crash: behind the silo")
        return "accepted", wrong

    def _judge_release(self, data: Any) -> tuple[str, list[str]]:
        try:
            messages.is_facts(data)
            found = messages.read_release(data)
        except DiscretoError as error:
            return type(error).__name__, []
        whole = all(t.dtype == np.int64 and t.ndim == 2 for t in found.tables)
        return "accepted", [] if whole else ["crash: not whole numbers"]

    def _judge_model(self, data: Any) -> tuple[str, list[str]]:
        try:
            file = json.dumps(data)
        except (ValueError, TypeError, RecursionError):
            return "not JSON", []
        try:
            model = persist.loads(file)
            if model.space_.target is None:
                return "accepted", []
            maps = [predictions.RowLoss(file)]
            if isinstance(asked.COLUMNS.get(model.space_.goal), dp.Category):
                maps.append(predictions.Right(file))
        except DiscretoError as error:
            return type(error).__name__, []
        said, wrong = "", []
        for one in maps:
            block = Block(one) if hasattr(one, "rows") else None
            said, more = self._asked_of_model(one, block)
            wrong += more
        return said, wrong

    def _asked_of_model(self, one: Any, block: Any) -> tuple[str, list[str]]:
        query = asked._all(one) if block else Sum(one, asked.COUNT)
        said, wrong = {}, []
        for name, rows in asked.TABLES.items():
            ledger = self._ledger()
            gate = dp.Table(rows, asked.DOMAIN, ledger).gate()
            try:
                answer = gate.measure(query, Cost.of(1), "q")
                said[name] = ("accepted", np.shape(answer.tables[0]))
            except KernelFault:
                said[name] = ("KernelFault",)
                wrong.append("crash: behind the gate")
            except DiscretoError as error:
                said[name] = (type(error).__name__, str(error))
                if count(ledger):
                    wrong.append("refused, but charged")
        if len(set(said.values())) > 1:
            wrong.append(f"difference: {said}")
        return next(iter(said.values()))[0], wrong


KINDS = {  # of messages, and how many of a hundred are of each
    "measure": 40,
    "sums_round": 12,
    "steps_round": 8,
    "proximal_round": 3,
    "choice": 13,
    "randomise": 3,
    "nonsense": 4,
    "domain": 6,
    "policy": 4,
    "model": 3,
    "release": 4,
}


def _stop(number: int, frame: Any) -> None:
    raise TooLongError
