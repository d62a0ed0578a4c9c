"""The rules of a ledger: charge first, then release, and never refund."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Self

from discreto.core.charge import Event, Receipt, Reservation, Simulation
from discreto.core.cost import Amount, Cost, read_amount, read_delta, show
from discreto.core.ledger import entries as rows
from discreto.core.ledger import faults as failures
from discreto.core.ledger import opening
from discreto.core.ledger.analyst import AnalystLedger
from discreto.core.ledger.anchor import Anchor
from discreto.core.ledger.chain import POPULATION, Chain, payers
from discreto.core.ledger.checks import (
    check_can_travel,
    check_content,
    check_cost,
    check_key,
    check_name,
)
from discreto.core.ledger.database import Database
from discreto.core.ledger.groups import Group, LedgerJob
from discreto.core.ledger.page import LedgerPage, Needs
from discreto.core.ledger.store import MEMORY
from discreto.core.ledger.stores import store_of
from discreto.core.ledger.writer import LedgerWriter
from discreto.errors import LedgerError, ParameterError


class Ledger(LedgerWriter):
    """The budget of one population and every charge against it.

    Parameters
    ----------
    path
        A file, made if it does not exist; ``"postgresql://host/database#name"`` for a
        ledger that several hosts share; nothing for a ledger in memory.
    epsilon, delta
        The whole budget. For an existing file they may be left out; if given, they
        must be those of the file.
    pure, block_delta
        An epsilon, and a delta, set aside for costs that add up: questions without a
        delta, and steps on random samples. Without them such costs add up until the
        first Gaussian question, and count as Gaussian privacy after it; see
        ``docs/ledger.md``. ``pure=0`` counts everything as Gaussian privacy.
    population
        A name for these people; the file of another population is refused.
    analysts
        Budgets of single analysts, ``{"ana": 1}``; they use ``ledger.analyst("ana")``.
    anchor
        A file on another volume that learns every entry's hash.
    key
        A secret for the chain (bytes); without it the chain is a plain hash.
    timeout
        Seconds to wait for another process that is writing.

    Raises
    ------
    LedgerError
        The file is damaged, was changed, or is another population's or budget's.

    Examples
    --------
    >>> ledger = Ledger(epsilon=3)
    >>> ledger.charge(Cost.of("0.5"), "a look").seq
    1
    >>> print(ledger)
    ε 0.5 of 3, 1 entry, chain intact
    """

    simulation: Simulation | None = None

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        pure: Amount | None = None,
        block_delta: Amount | None = None,
        population: str | None = None,
        analysts: Mapping[str, Amount] | None = None,
        anchor: str | Path | None = None,
        key: bytes | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.path = MEMORY if path is None else str(path)
        self._chain = Chain(key)
        self._anchor = None if anchor is None else Anchor(anchor)
        self._timeout = timeout
        wanted = {
            "epsilon": None if epsilon is None else read_amount(epsilon, "epsilon"),
            "delta": None if delta is None else read_delta(delta),
            **opening.read_aside(epsilon, delta, pure, block_delta),
        }
        limits = {
            check_name(name, "an analyst's name"): read_amount(
                amount, f"the epsilon of analyst {name!r}"
            )
            for name, amount in (analysts or {}).items()
        }
        if population:
            check_name(population, "the population")
        self._store, self.path = store_of(self.path, timeout)
        self._group, self._unused = Group(), set()
        if anchor and os.path.realpath(anchor) == self._store.path:
            raise ParameterError("the anchor must be another file than the ledger.")
        if not self._store.exists():
            meta = opening.new_meta(wanted, population or "", limits, self.path)
            meta["seal"] = self._chain.seal(meta)
            self._store.create(lambda db: rows.fill(db, meta))
        self._store.bring_up()
        with self._store.reading() as db:
            self._meta = dict(db.execute("SELECT name, value FROM meta").fetchall())
        opening.check_version(self.path, self._meta)
        count = self._verify(recent=True)
        self.id, self.population = self._meta["id"], self._meta["population"]
        self.delta = Fraction(self._meta["delta"])
        have = {"epsilon": self.epsilon}
        have |= {n: Fraction(v) for n, v in self._meta.items() if n in opening.PARTS}
        opening.check_wanted(self.path, wanted, have)
        opening.check_people(self.path, population, self.population)
        for name, value in limits.items():
            if self.limit(name) != value:
                raise LedgerError(
                    f"analyst {name!r} of {self.path!r} has another budget. Change it "
                    f"with ledger.allow({name!r}, ...)."
                )
        if self._anchor and not count:
            self._anchor.create()

    # Spending

    def charge(
        self,
        cost: Cost,
        label: str,
        event: Event | None = None,
        key: str | None = None,
        analyst: str = POPULATION,
        accounts: tuple[str, ...] = (),
        *,
        numbered: bool = False,
    ) -> Receipt:
        """Commit a charge, or raise and change nothing.

        Parameters
        ----------
        cost
            What it costs.
        label
            What it is for, as ``entries`` shows it.
        event
            Public facts to keep with the entry.
        key
            A name for this charge. The same key and content give the same entry with
            its stored answer. If no answer was stored, another attempt is charged:
            the last one may have read rows. The same key with other content is refused.
        analyst
            Whose budget pays besides the population's; nothing: nobody's.
        accounts
            Further budgets that pay, each set with ``allow``: that of a table, say.
        numbered
            Whether this pays for numbered steps, which read rows under keys of their
            own. Such a charge has no answer and is made once.

        Returns
        -------
        Receipt
            The number, cost and hash of the entry.

        Raises
        ------
        BudgetError
            There is less left. Nothing was charged.
        """
        cost = check_cost(cost, label)
        return self._enter(
            cost, label, event, key, analyst, accounts, numbered=numbered
        )

    def note(
        self, label: str, event: Event, key: str, analyst: str = POPULATION
    ) -> Receipt:
        """Commit an entry that costs nothing: the use of something paid for before.

        Parameters
        ----------
        label
            What is used.
        event
            Public facts to keep with the entry.
        key
            As in ``charge``, so what was paid for is used once.
        analyst
            Whose budget pays besides the population's; nothing: nobody's.
        """
        return self._enter(Cost(), label, event, key, analyst)

    def _enter(
        self,
        cost: Cost,
        label: str,
        event: Event | None,
        key: str | None,
        analyst: str,
        accounts: tuple[str, ...] = (),
        *,
        numbered: bool = False,
    ) -> Receipt:
        if key is not None:
            check_key(key)
        for name in (analyst, *accounts):
            if name != POPULATION:
                check_name(name, "an analyst's name")
        content = check_content(
            {
                "label": str(label)[:200],
                "cost": cost.to_dict(),
                "analyst": analyst,
                "event": dict(event or {}),
            }
            | ({"accounts": list(accounts)} if accounts else {})
        )
        names = tuple(payers(analyst, accounts))
        keys = () if key is None else (key,)

        def enter(page: LedgerPage) -> Receipt:
            return page.enter(content, key, cost, names, numbered=numbered)

        return self._group.run(LedgerJob(enter, Needs(keys, names)), self._commit)

    def reserve(
        self, cost: Cost, label: str, event: Event | None = None
    ) -> Reservation:
        """Charge a whole plan at once; its questions then draw on the reservation.

        Parameters
        ----------
        cost
            What the whole plan costs.
        label
            What it is for.
        event
            Public facts to keep with the entry.
        """
        return Reservation(self, self.charge(cost, label, event))

    def allow(self, analyst: str, epsilon: Amount) -> None:
        """Set an analyst's budget, or with ``""`` the population's, as an entry.

        A limit below what is spent already is possible: it refuses everything further.

        Parameters
        ----------
        analyst
            An analyst's name, or ``""`` for the population.
        epsilon : int, float, str or Fraction
            The whole budget from now on.
        """
        if analyst != POPULATION:
            check_name(analyst, "an analyst's name")
        limit = str(read_amount(epsilon, "epsilon"))
        what = f"allow {analyst or 'the population'} ε {show(Fraction(limit))}"

        def entry(db: Database, label: str) -> tuple[dict[str, Any], None]:
            db.execute(
                "INSERT INTO account VALUES(?, ?, '{}') ON CONFLICT(name) DO UPDATE "
                "SET epsilon = excluded.epsilon",
                (analyst, limit),
            )
            return failures.own_entry(label, analyst) | {"allow": limit}, None

        self._own(entry, what)

    def analyst(self, name: str, accounts: tuple[str, ...] = ()) -> AnalystLedger:
        """This ledger as one analyst may use it.

        Parameters
        ----------
        name
            One of the ``analysts``.
        accounts
            Further budgets that every charge falls on.
        """
        return AnalystLedger(self, check_name(name, "an analyst's name"), accounts)

    def close(self) -> None:
        """Let go of the file; whatever is asked of this ledger afterwards is refused.

        Copies, tables and models that share this ledger are closed with it. The file
        stays and can be opened anew; a ledger in memory is gone. Closing twice is fine.

        Examples
        --------
        >>> with Ledger(epsilon=1) as ledger:
        ...     print(ledger)
        ε 0 of 1, 0 entries, chain intact
        """
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    # Copies share the ledger: a cloned model must not get its budget back.

    def __copy__(self) -> Ledger:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Ledger:
        return self

    def __reduce__(self) -> tuple[Callable[..., Ledger], tuple[Any, ...]]:
        address = check_can_travel(self.path, self._store.address, self._chain.key)
        anchor = self._anchor.path if self._anchor else None
        return _reopen, (address, anchor, self._timeout, self.id)


def _reopen(path: str, anchor: Path | None, timeout: float, name: str) -> Ledger:
    ledger = Ledger(path, anchor=anchor, timeout=timeout)
    if ledger.id != name:
        raise LedgerError(f"{path!r} is another ledger by now.")
    return ledger
