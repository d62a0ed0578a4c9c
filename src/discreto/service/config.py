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
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from discreto.core.cost import Amount, read_amount
from discreto.core.documents import known_part, read_toml_file
from discreto.core.domain.dialect import Dialect
from discreto.core.ledger.postgres import is_postgres
from discreto.core.query import MOST_CELLS
from discreto.data.sql.address import within
from discreto.errors import ParameterError
from discreto.session.parameters import whole
from discreto.session.work_limits import WorkLimits

ROLES = ("owner", "analyst", "auditor")


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What a request may be, and how its answer is timed.

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


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """Where a population's ledger is, and its budgets when it is new."""

    path: str
    epsilon: Amount | None = None
    delta: Amount | None = None
    anchor: str | None = None
    analysts: Mapping[str, Amount] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
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

    data: str
    domain: str
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
    """Somebody who may sign in."""

    role: str
    email: str = ""


@dataclass(frozen=True, slots=True)
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
    secret_file: str
    label: str = "Single sign-on"


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """All that a service is started with."""

    state: str
    ledgers: Mapping[str, LedgerSettings]
    tables: Mapping[str, TableSettings]
    people: Mapping[str, PersonSettings]
    name: str = "discreto"
    url: str = ""  # how the world reaches it, such as https://data.example.org
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    oidc: SignOn | None = None


def read_config(path: str | Path) -> ServiceConfig:
    """The service that a TOML file describes; whatever is wrong with it is said."""
    folder = Path(path).absolute().parent
    known = [one.name for one in fields(ServiceConfig)]
    data = known_part(read_toml_file(path), known, "a service's file")
    config = ServiceConfig(
        state=_place(folder, data.pop("state", "service.state")),
        ledgers=_several(LedgerSettings, data.pop("ledgers", {}), "ledgers"),
        tables=_several(TableSettings, data.pop("tables", {}), "tables"),
        people=_several(PersonSettings, data.pop("people", {}), "people"),
        limits=_made(ServiceLimits, data.pop("limits", {}), "limits"),
        oidc=_made(SignOn, data.pop("oidc"), "oidc") if "oidc" in data else None,
        name=str(data.pop("name", "discreto")),
        url=str(data.pop("url", "")),
    )
    return check_config(_resolved(config, folder))


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


def _resolved(config: ServiceConfig, folder: Path) -> ServiceConfig:
    ledgers = {
        name: replace(
            one,
            path=_place(folder, one.path),
            anchor=None if one.anchor is None else str(folder / one.anchor),
        )
        for name, one in config.ledgers.items()
    }
    tables = {
        name: replace(
            one, data=within(folder, one.data), domain=str(folder / one.domain)
        )
        for name, one in config.tables.items()
    }
    oidc = config.oidc
    if oidc is not None:
        oidc = replace(oidc, secret_file=str(folder / oidc.secret_file))
    return replace(config, ledgers=ledgers, tables=tables, oidc=oidc)


def _place(folder: Path, path: Any) -> str:
    return str(path) if is_postgres(str(path)) else str(folder / str(path))


def _several(kind: Any, data: Any, what: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ParameterError(f"{what} are sections: [{what}.NAME].")
    return {name: _made(kind, part, f"{what}.{name}") for name, part in data.items()}


def _made(kind: Any, part: Any, what: str) -> Any:
    if not isinstance(part, dict):
        raise ParameterError(f"{what!r} must be a section: [{what}].")
    part = known_part(part, [one.name for one in fields(kind)], f"[{what}]")
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in part.items()}
    try:
        return kind(**values)
    except TypeError as error:
        raise ParameterError(f"[{what}]: {error}.") from None
