"""A service from afar: ``remote = dp.connect(url, token)``, then as with any table."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from discreto.core.charge import Charger, Event, Receipt
from discreto.core.cost import Amount, Cost
from discreto.core.documents import read_json
from discreto.core.domain.domain import Domain
from discreto.core.expressions import Step, view_domain, view_to_json
from discreto.core.gate import Gate
from discreto.core.query_json import encode
from discreto.errors import (
    BudgetError,
    ChangedError,
    DiscretoError,
    DomainError,
    KernelFault,
    LedgerError,
    MissingExtraError,
    ParameterError,
    UnsafeError,
)
from discreto.models import Evaluation
from discreto.models.base.estimator import PrivateEstimator
from discreto.release.release import Release
from discreto.session.plan import Statistic
from discreto.session.shares import Split
from discreto.table.table import Table
from discreto.text.install_commands import install_command

_ERRORS: dict[str, type[DiscretoError]] = {
    "bad_request": ParameterError,
    "domain": DomainError,
    "budget": BudgetError,
    "needs_approval": BudgetError,
    "unsafe": UnsafeError,
    "ledger": LedgerError,
    "changed": ChangedError,
    "shut": KernelFault,
    "failed": KernelFault,
}
_NOT_SENT = ("epsilon", "delta", "ledger", "domain", "bounds", "classes")


def connect(url: str, token: str, *, timeout: float = 300.0, verify: Any = True) -> Any:
    """Connect to a service.

    Parameters
    ----------
    url
        Where it is: ``https://data.example.org``. Plain ``http`` is for loopback only.
    token
        Your token, as the owner gave it to you.
    timeout
        Seconds to wait for an answer.
    verify
        A file with the certificate that signed the service's, if it is your own.

    Returns
    -------
    Remote
        ``remote.table("patients")`` works with ``dp.stats``, ``dp.plan`` and models.

    Raises
    ------
    ParameterError
        The token would travel in the open.
    MissingExtraError
        httpx is not installed.
    """
    parts = urlsplit(url)
    near = parts.hostname in ("127.0.0.1", "localhost", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and near):
        raise ParameterError(
            f"{url!r} would send your token in the open. Use https://."
        )
    return Remote(url, token, timeout, verify)


class Remote:
    """A service, as one person may use it. Made by ``dp.connect``."""

    def __init__(self, url: str, token: str, timeout: float, verify: Any) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError(
                f"dp.connect needs httpx: {install_command('service')}"
            ) from None
        self.url = url.rstrip("/")
        self._http = httpx.Client(
            base_url=f"{self.url}/api/v1",
            headers={"authorization": f"Bearer {token}"},
            timeout=timeout,
            verify=verify,
        )
        self._trouble = httpx.HTTPError

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return one request; refusals are raised as the errors that they are.

        Parameters
        ----------
        method, path
            Such as ``"GET"`` and ``"/me"``; see the service's OpenAPI description.
        body
            JSON data to send.
        """
        try:
            reply = self._http.request(method, path, json=body)
            data = read_json(reply.content)
        except (self._trouble, ValueError) as error:
            raise LedgerError(
                f"the service at {self.url} cannot be reached "
                f"({type(error).__name__}). Asked again, a stored answer costs "
                "nothing more; a question without one is charged again."
            ) from None
        if reply.status_code >= 400:
            code, text = str(data.get("error")), str(data.get("message"))
            raise _ERRORS.get(code, DiscretoError)(text)
        return data

    def tables(self) -> list[str]:
        """Return the names of the tables that you may ask about."""
        return [one["name"] for one in self.call("GET", "/tables")]

    def table(self, name: str) -> RemoteTable:
        """Return a table of the service.

        Parameters
        ----------
        name
            One of ``tables()``.
        """
        return RemoteTable(self, name)

    def history(self) -> list[dict[str, Any]]:
        """Return your questions so far, newest first."""
        out: list[dict[str, Any]] = self.call("GET", "/history")
        return out

    def requests(self) -> list[dict[str, Any]]:
        """Return your requests for approval, each waiting, approved or refused."""
        out: list[dict[str, Any]] = self.call("GET", "/requests")
        return out

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __repr__(self) -> str:
        return f"Remote({self.url!r})"


class RemoteTable(Table):
    """A table behind a service: the service checks, charges and answers.

    Plans are made here, from the public domain, and cost nothing. The same question
    asked again gets the stored answer; ``again=1`` in ``ask`` pays for a new one.
    """

    def __init__(self, remote: Remote, name: str) -> None:
        self._remote, self.name = remote, name
        facts = remote.call("GET", f"/tables/{quote(name, safe='')}")
        self.domain = Domain.from_dict(facts["domain"])
        self.description = str(facts["description"])
        self.ledger = _Elsewhere()
        self._plans = {}

    def _call(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        view = {"view": view_to_json(self.view)} if self.view else {}
        path = f"/tables/{quote(self.name, safe='')}/{what}"
        out: dict[str, Any] = self._remote.call("POST", path, body | view)
        return out

    def left(self) -> dict[str, Any]:
        """Return what may still be spent: by all, by you, on this table."""
        facts = self._remote.call("GET", f"/tables/{quote(self.name, safe='')}")
        return dict(facts["left"])

    def answer(
        self,
        statistic: Statistic,
        *,
        epsilon: Amount,
        delta: Amount = 0,
        key: str | None = None,
    ) -> Release:
        """Ask one statistic; the same again is free.

        Parameters
        ----------
        statistic
            Such as ``stats.Mean("age")``.
        epsilon, delta
            What it costs.
        key
            Refused: the service keeps every answer under a key of its own.
        """
        if key is not None:
            raise ParameterError("a service keeps every answer: leave out the key.")
        return self.answers([statistic], epsilon=epsilon, delta=delta)[0]

    def answers(
        self,
        several: Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        split: Split = "equal",
        precision: Sequence[Amount | None] | None = None,
        rows: int | None = None,
        again: int = 0,
    ) -> list[Release]:
        """Ask several statistics in one charge.

        Parameters
        ----------
        several
            Statistics, such as ``[stats.Mean("age"), stats.Count()]``.
        epsilon, delta
            What all of them cost together.
        split, precision, rows
            Refused but for ``split="equal"``: the service shares a cost equally.
        again
            Another number asks, and pays, anew.
        """
        if split != "equal" or precision is not None:
            raise ParameterError("a service shares a cost equally: split='equal'.")
        body = {"statistics": [_without_nones(encode(one)) for one in several]}
        costs = {"epsilon": str(epsilon), "delta": str(delta)}
        more = {"again": again} if again else {}
        data = self._call("ask", body | costs | more)
        return [release_from(one) for one in data["releases"]]

    def request(
        self,
        several: Iterable[Statistic],
        *,
        epsilon: Amount,
        delta: Amount = 0,
        comment: str = "",
    ) -> dict[str, Any]:
        """Ask the owner to approve a question above the ceiling; nothing is charged.

        Parameters
        ----------
        several
            Statistics, such as ``[stats.Mean("age")]``.
        epsilon, delta
            The cost of the question, the same as when it is asked afterwards.
        comment
            The reason, for the owner to read.

        Returns
        -------
        dict
            ``id`` and ``status`` of the request; ``remote.requests()`` has decisions.
        """
        body = {"statistics": [_without_nones(encode(one)) for one in several]}
        costs = {"epsilon": str(epsilon), "delta": str(delta)}
        return self._call("requests", body | costs | {"comment": comment})

    def fit_model(self, model: PrivateEstimator, target: str | None) -> str:
        """Let the service fit a model; its JSON text.

        Parameters
        ----------
        model
            What to fit; its name and parameters are sent, nothing else.
        target
            The column to predict.
        """
        params = {
            name: value
            for name, value in model.get_params(deep=False).items()
            if name not in _NOT_SENT and value is not None
        }
        body = {
            "fit": {"model": type(model).__name__, "params": _sendable(params)},
            "target": target,
            "epsilon": str(getattr(model, "epsilon", None)),
            "delta": str(getattr(model, "delta", 0)),
        }
        return json.dumps(self._work(body)["model"])

    def _work(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a question that takes long."""
        job = self._call("jobs", body)
        while job["status"] in ("waiting", "running"):
            time.sleep(0.05)
            job = self._remote.call("GET", f"/jobs/{job['job']}")
        if job["status"] != "done":
            raise DiscretoError(f"{job['label']} was {job['status']}. {job['message']}")
        path = f"/tables/{quote(self.name, safe='')}/answers/{job['answer']}"
        out: dict[str, Any] = self._remote.call("GET", path)
        return out

    def compare(
        self,
        target: str | None = None,
        *,
        epsilons: Sequence[Amount] = ("0.5", "1", "2"),
        rows: int = 1000,
        columns: Mapping[str, Sequence[Any]] | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Compare all suitable models on simulated rows: free, no row is read.

        Parameters
        ----------
        target
            The column to predict; nothing: the domain's.
        epsilons
            What a fit may cost, at most four.
        rows
            The number of synthetic rows that the service draws from the domain.
        columns
            Rows of your own instead, such as those of a synthetic table.
        seed
            Equal seeds give equal scores.

        Returns
        -------
        dict
            ``scores`` of each model at each epsilon, the ``baseline``, the
            ``reference`` without privacy, and an ``advice``.
        """
        asked: dict[str, Any] = {"target": target, "rows": rows, "seed": seed}
        asked["epsilons"] = [str(one) for one in epsilons]
        if columns is not None:
            asked["columns"] = {name: list(values) for name, values in columns.items()}
        found = self._work({"compare": asked, "epsilon": asked["epsilons"][0]})
        return dict(found["comparison"])

    def evaluate(
        self, answer: str, *, epsilon: Amount, delta: Amount = 0
    ) -> Evaluation:
        """Let the service judge a model that it fitted.

        Parameters
        ----------
        answer
            The id of the model's answer.
        epsilon, delta
            What it costs.
        """
        body = {"evaluate": answer, "epsilon": str(epsilon), "delta": str(delta)}
        found = self._call("ask", body)
        here = found.get("on_these_rows")
        alone = None if here is None else Evaluation(**releases_from(here))
        return Evaluation(**releases_from(found["evaluation"]), on_these_rows=alone)

    def seen(self, step: Step) -> RemoteTable:
        """Return a view, worked out by the service.

        Parameters
        ----------
        step
            ``WithColumns``, ``Where`` or ``Select`` of ``discreto.core.expressions``.
        """
        out = copy.copy(self)
        out.domain = view_domain(step, self.domain)
        out._plans, out.view = {}, (*self.view, step)
        return out

    def gate(self, ledger: Charger | None = None) -> Gate:
        """Refuse: the gate to these rows is in the service.

        Parameters
        ----------
        ledger
            Not used.
        """
        raise UnsafeError(
            "the rows of this table are in a service: ask it by dp.stats, or fit a "
            "model by model.fit(table)."
        )

    def __repr__(self) -> str:
        return f"RemoteTable({self.name!r} of {self._remote.url}, {self.domain!r})"


class _Elsewhere:
    """The ledger of a remote table: only the service charges it."""

    simulation = None

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
    ) -> Receipt:
        raise UnsafeError("a service charges its own ledger.")

    def keep(self, receipt: Receipt, answer: str) -> str:
        raise UnsafeError("a service keeps its own answers.")

    def fault(self, label: str) -> None:
        """Do nothing: the ledger is in the service."""


# Releases and questions as JSON data


def release_from(data: dict[str, Any]) -> Release:
    """Return the release that a service sent, with its receipt."""
    numbers = ("value", "low", "high")
    data = data | {name: _number(data[name]) for name in numbers}
    release = Release.from_dict(data)
    paid = data.get("receipt")
    if paid is None:
        return release
    cost = Cost.from_dict(paid["cost"])
    receipt = Receipt(int(paid["seq"]), str(paid["label"]), cost, str(paid["hash"]))
    return release.paid(receipt, release.cost, release.neighbours)


def releases_from(data: dict[str, Any]) -> dict[str, Any]:
    """Return the releases that a service sent, by name."""
    return {name: release_from(one) for name, one in data.items()}


def _number(value: Any) -> Any:
    if isinstance(value, list):
        return [_number(one) for one in value]
    return float(value) if value in ("nan", "inf", "-inf") else value


def _without_nones(data: Any) -> Any:
    """Return a question without the parts that are None."""
    if isinstance(data, dict):
        return {
            key: _without_nones(value)
            for key, value in data.items()
            if value is not None
        }
    return [_without_nones(one) for one in data] if isinstance(data, list) else data


def _sendable(params: dict[str, Any]) -> dict[str, Any]:
    """Return a model's parameters as data, with settings only where they were set."""
    out = dict(params)
    if "settings" in out:
        settings = vars(out["settings"])
        out["settings"] = {k: v for k, v in settings.items() if v is not None}
    return out
