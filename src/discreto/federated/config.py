"""A silo as its owner writes it down: one TOML file.

::

    data = "patients.parquet"       # or the address of a table in a database
    domain = "patients.domain.json"
    ledger = "patients.ledger"
    epsilon = 3                     # the whole budget, when the ledger is new
    delta = "1e-5"
    rows = 400                      # only if the number of rows may be public
    fetch = false                   # a database's rows never come to this process
    another_ledger = true           # the data file has a ledger, and gets a second one
    accept_unchecked = true         # texts whose reading no owner has checked

    [dialect]                       # how a text file is written, if the domain file
    separator = ";"                 # does not say so: see Dialect

    [history]                       # earlier rows of the same person beside each row
    order = "day"
    before = {lag = "kg", rows = 1}
    lately = {rolling_mean = "kg", rows = 5}

    [policy]                        # see Policy
    per_round = 1

    [policy.partners]
    coordinator = 2

    [flower]                        # see Wire
    superlink = "coordinator.example.org:8000"
    root_certificates = "ca.crt"
    private_key = "silo.key"

    [https]                         # or this one: see HttpsWire
    certificate = "silo.crt"
    private_key = "silo.key"
    authority = "federation.crt"
    port = 8443

    [peer]                          # learning without a coordinator: see peer_config

Paths are relative to the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreto.core.domain.dialect import Dialect
from discreto.core.domain.domain import Domain
from discreto.core.history import Lag, NamedPast, Past, PersonHistory, RollingMean
from discreto.core.ledger import Ledger
from discreto.data.engines import DatabaseEngine
from discreto.data.sql.address import within
from discreto.errors import DomainError, ParameterError
from discreto.federated.policy import Policy
from discreto.federated.silo import Silo
from discreto.table.table import Table
from discreto.text.toml_config import read_config, relative


@dataclass(frozen=True, slots=True)
class Wire:
    """A silo's connection to its coordinator over Flower.

    Parameters
    ----------
    superlink
        The coordinator's address, ``host:port``.
    root_certificates, private_key
        The certificate that signed the coordinator's, and the silo's own secret key.
    partner
        The name that the policy gives to the coordinator at that address.
    port
        A local port for the silo's own processes; another one for each silo of a host.
    home
        A folder for Flower's files.
    """

    superlink: str
    root_certificates: str = relative()
    private_key: str = relative()
    partner: str = "coordinator"
    port: int = 9094
    home: str = relative(default="flower")


@dataclass(frozen=True, slots=True)
class HttpsWire:
    """A silo's HTTPS server; see ``discreto.federated.https``.

    Parameters
    ----------
    certificate, private_key, authority
        The silo's own certificate and key, and the authority of the partners'.
    host, port
        Where to listen.
    """

    certificate: str = relative()
    private_key: str = relative()
    authority: str = relative()
    host: str = "127.0.0.1"
    port: int = 8443


@dataclass(frozen=True, slots=True)
class SiloFile:
    """The keys and sections of a silo's file."""

    data: str = relative(within)
    domain: str = relative()
    ledger: str = relative()
    epsilon: Any = None
    delta: Any = None
    rows: Any = None
    fetch: bool | None = None
    another_ledger: bool = False
    accept_unchecked: bool = False
    policy: Policy = field(default_factory=Policy)
    dialect: Mapping[str, Any] | None = None
    history: Mapping[str, Any] | None = None
    flower: Wire | None = None
    https: HttpsWire | None = None
    peer: Mapping[str, Any] | None = None


def read_file(path: str | Path) -> SiloFile:
    """Read the TOML file of a silo."""
    return read_config(path, SiloFile, "a silo's file")


def read_https(path: str | Path) -> HttpsWire | None:
    """Return the section [https] of a silo's file, if it has one."""
    return read_file(path).https


def read_silo(path: str | Path) -> Silo:
    """Return the silo of a TOML file; its ledger is made if there is none."""
    said = read_file(path)
    # Whatever is wrong with the file is refused before a ledger is made.
    domain = Domain.load(said.domain)
    engine = None if said.fetch is None else DatabaseEngine(fetch=said.fetch)
    dialect = Dialect.from_dict(said.dialect) if said.dialect else None
    table = Table(
        said.data,
        domain,
        Ledger(said.ledger, epsilon=said.epsilon, delta=said.delta),
        engine=engine,
        dialect=dialect,
        another_ledger=said.another_ledger is True,
        accept_unchecked=said.accept_unchecked is True,
    )
    if not table.checked:
        raise DomainError(
            f"{said.data} is text, and its owner has not recorded that it is "
            "read as the domain says: values that are not read count as missing. "
            f"Run discreto domain check {said.domain} --data {said.data} "
            f"--owner --record, or say accept_unchecked = true in {str(path)!r}."
        )
    if said.history is not None:
        table = table.remembering(_history(dict(said.history), path))
    return Silo(table, said.policy, rows=said.rows)


def _history(part: dict[str, Any], path: str | Path) -> PersonHistory:
    """Return the columns from earlier rows that an owner declares."""
    order = part.pop("order", None)
    columns = tuple(NamedPast(name, _past(one, path)) for name, one in part.items())
    if not isinstance(order, str):
        raise ParameterError(
            f"[history] in {str(path)!r} needs order: the column that says which row "
            "was earlier."
        )
    return PersonHistory(order, columns)


def _past(said: Any, path: str | Path) -> Past:
    for name, kind in (("lag", Lag), ("rolling_mean", RollingMean)):
        if isinstance(said, dict) and set(said) == {name, "rows"}:
            past: Past = kind(str(said[name]), said["rows"])
            return past
    raise ParameterError(
        f'a column of [history] in {str(path)!r} is {{lag = "x", rows = 1}} or '
        '{rolling_mean = "x", rows = 5}.'
    )


def read_wire(path: str | Path) -> Wire:
    """Return the section [flower] of a silo's file, if its certificates are there."""
    wire = read_file(path).flower
    if wire is None:
        raise ParameterError(f"{str(path)!r} needs the section [flower].")
    for name in ("root_certificates", "private_key"):
        if not Path(getattr(wire, name)).is_file():
            raise ParameterError(f"there is no file {getattr(wire, name)!r} ({name}).")
    return wire
