"""A service as its owner writes it down: one TOML file.

::

    name = "University hospital"
    state = "service.state"          # or postgresql://host/database#service

    [ledgers.patients]
    path = "patients.ledger"         # or postgresql://host/database#patients
    epsilon = 3                      # of the population, when the ledger is new
    delta = "1e-5"
    anchor = "/mnt/other/patients.anchor"
    analysts = { ana = 1, bo = "1/2" }   # when they are new; then the owner's page

    [tables.patients]
    data = "patients.parquet"
    domain = "patients.domain.json"
    ledger = "patients"
    ceiling = "0.25"                 # the most that one question costs unasked
    epsilon = 2                      # the most that this table may cost in all
    description = "Admissions of 2024"

    [people.olga]
    role = "owner"
    email = "olga@example.org"       # for single sign-on

    [people.ana]
    role = "analyst"

    [limits]                         # see ServiceLimits

    [oidc]                           # see SignOn

Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreto.core.cost import Amount, read_amount
from discreto.core.domain.dialect import Dialect
from discreto.core.ledger.postgres import is_postgres
from discreto.core.query import MOST_CELLS
from discreto.data.sql.address import within
from discreto.errors import ParameterError
from discreto.session.parameters import whole
from discreto.session.work_limits import WorkLimits
from discreto.text import toml_config
from discreto.text.toml_config import relative

ROLES = ("owner", "analyst", "auditor")


def _place(folder: Path, path: str) -> str:
    """Return the place of a store: an address as it is, a path in the folder."""
    return path if is_postgres(path) else str(folder / path)


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits of requests, and the timing of answers.

    Parameters
    ----------
    body
        The most bytes of a request.
    per_second
        Requests of one person in a second, on average, for each worker process.
    seconds
        How long a request may take to arrive.
    time_bucket
        Answers leave after this many seconds, or two times, four times, ... as many.
    patience
        Seconds after which a charge without an answer counts as died.
    jobs
        Long pieces of work at a time, for each worker process.
    answer_numbers
        The most numbers of one answer, of all its statistics together. A number takes
        about 1 KB of memory, and 80 bytes of the ledger for good.
    question_numbers
        The most numbers that one question of a fit or an evaluation adds up.
    session_hours, token_days
        How long a session and a token last.
    """

    body: int = 1 << 16
    per_second: float = 20.0
    seconds: float = 10.0
    time_bucket: float = 0.1
    patience: float = 60.0
    jobs: int = 2
    answer_numbers: int = 100_000
    question_numbers: int = 1 << 20
    session_hours: float = 12.0
    token_days: float = 90.0

    def work(self) -> WorkLimits:
        """Return the limits on work. An answer of the service is always stored."""
        most = whole(self.answer_numbers, "answer_numbers", most=WorkLimits().answer)
        one = whole(self.question_numbers, "question_numbers", most=MOST_CELLS)
        return WorkLimits(one, most, most)


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerSettings:
    """The place of a ledger, and its budgets when it is new."""

    path: str = relative(_place)
    epsilon: Amount | None = None
    delta: Amount | None = None
    anchor: str | None = relative(default=None)
    analysts: Mapping[str, Amount] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """A table: its rows, its domain, who pays, and what its owner allows.

    Parameters
    ----------
    data, domain, ledger
        A Parquet or CSV file or pattern, or the address of a table in a database
        (``docs/databases.md``); a domain file; and the name of a ledger.
    ceiling
        The most epsilon that one question may cost without the owner's approval.
    epsilon
        The most that all questions about this table may cost.
    description
        What it is, for those who ask.
    analysts
        Who may ask; nothing: every analyst with a budget in the ledger.
    fetch
        Whether rows of a database may be read for what it cannot add up itself.
    dialect
        How a text file is written, if the domain file does not say so:
        ``{separator = ";", decimal = ","}``.
    another_ledger
        Whether a data file that has a ledger already may have this one too.
    accept_unchecked
        Whether a text file may be served though its owner has not recorded a check.
    """

    data: str = relative(within)
    domain: str = relative()
    ledger: str
    ceiling: Amount | None = None
    epsilon: Amount | None = None
    description: str = ""
    analysts: tuple[str, ...] | None = None
    fetch: bool = True
    dialect: Mapping[str, Any] | None = None
    another_ledger: bool = False
    accept_unchecked: bool = False


@dataclass(frozen=True, slots=True)
class PersonSettings:
    """A person who may sign in."""

    role: str
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOn:
    """Single sign-on by OpenID Connect; people are known by their verified e-mail.

    Parameters
    ----------
    issuer
        The provider's address.
    client_id, secret_file
        What the provider gave to this service; the secret is read from a file.
    label
        The words on the button.
    """

    issuer: str
    client_id: str
    secret_file: str = relative()
    label: str = "Single sign-on"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceConfig:
    """The configuration of a service."""

    state: str = relative(_place, default="service.state")
    ledgers: Mapping[str, LedgerSettings] = field(default_factory=dict)
    tables: Mapping[str, TableSettings] = field(default_factory=dict)
    people: Mapping[str, PersonSettings] = field(default_factory=dict)
    name: str = "discreto"
    url: str = ""  # how the world reaches it, such as https://data.example.org
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    oidc: SignOn | None = None


def read_config(path: str | Path) -> ServiceConfig:
    """Read the TOML file of a service, and check that its parts fit each other."""
    return check_config(
        toml_config.read_config(path, ServiceConfig, "a service's file")
    )


def check_config(config: ServiceConfig) -> ServiceConfig:
    """Refuse a description whose parts do not fit each other."""
    config.limits.work()
    if not config.tables or not config.ledgers:
        raise ParameterError("a service needs [tables.NAME] and [ledgers.NAME].")
    for name, table in config.tables.items():
        if table.ledger not in config.ledgers:
            raise ParameterError(
                f"table {name!r} names a ledger {table.ledger!r} that is not described."
            )
        if table.dialect is not None:
            Dialect.from_dict(table.dialect)
        for part in ("ceiling", "epsilon"):
            if getattr(table, part) is not None:
                read_amount(getattr(table, part), f"{part} of table {name!r}")
    for name, person in config.people.items():
        if person.role not in ROLES:
            raise ParameterError(
                f"{name!r} has the role {person.role!r}. There are {', '.join(ROLES)}."
            )
    if not any(person.role == "owner" for person in config.people.values()):
        raise ParameterError('a service needs an owner: [people.NAME] role = "owner".')
    for name in (*config.tables, *config.ledgers, *config.people):
        plain = name.replace("-", "a").replace("_", "a").isalnum()
        if not plain or not name.isascii() or len(name) > 60:
            raise ParameterError(
                f"{name!r}: names of tables, ledgers and people are letters, digits, "
                "- and _."
            )
    return config
