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
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from discreto.core.documents import known_part, read_toml_file
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

_NEEDED = ("data", "domain", "ledger")
_KEYS = (
    *_NEEDED,
    "epsilon",
    "delta",
    "rows",
    "fetch",
    "another_ledger",
    "accept_unchecked",
    "policy",
    "dialect",
    "history",
)
_SECTIONS = ("flower", "https", "peer")


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
    root_certificates: str
    private_key: str
    partner: str = "coordinator"
    port: int = 9094
    home: str = "flower"


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

    certificate: str
    private_key: str
    authority: str
    host: str = "127.0.0.1"
    port: int = 8443


def read_https(path: str | Path) -> HttpsWire | None:
    """Return the HTTPS server that a silo's TOML file describes, or None."""
    data, folder = _read(path), Path(path).absolute().parent
    if "https" not in data:
        return None
    part = _part(data, "https", path)
    for name in ("certificate", "private_key", "authority"):
        if name in part:
            part[name] = str(folder / str(part[name]))
    wire: HttpsWire = made(HttpsWire, part, path)
    return wire


def read_silo(path: str | Path) -> Silo:
    """The silo that a TOML file describes; its ledger is made if there is none."""
    data, folder = _read(path), Path(path).absolute().parent
    policy = made(Policy, _part(data, "policy", path), path)
    domain = Domain.load(folder / str(data["domain"]))
    engine = DatabaseEngine(fetch=data["fetch"]) if "fetch" in data else None
    source, said = within(folder, str(data["data"])), _part(data, "dialect", path)
    dialect = Dialect.from_dict(said) if said else None
    ledger = Ledger(
        folder / str(data["ledger"]),
        epsilon=data.get("epsilon"),
        delta=data.get("delta"),
    )
    table = Table(
        source,
        domain,
        ledger,
        engine=engine,
        dialect=dialect,
        another_ledger=data.get("another_ledger") is True,
        accept_unchecked=data.get("accept_unchecked") is True,
    )
    if not table.checked:
        raise DomainError(
            f"{data['data']} is text, and its owner has not recorded that it is "
            "read as the domain says: values that are not read count as missing. "
            f"Run discreto domain check {data['domain']} --data {data['data']} "
            f"--owner --record, or say accept_unchecked = true in {str(path)!r}."
        )
    if "history" in data:
        table = table.remembering(_history(_part(data, "history", path), path))
    return Silo(table, policy, rows=data.get("rows"))


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
    """Return the Flower connection of a silo's TOML file, with absolute paths."""
    folder, part = Path(path).absolute().parent, _part(_read(path), "flower", path)
    for name in ("root_certificates", "private_key", "home"):
        if name in part or name == "home":
            part[name] = str(folder / str(part.get(name, "flower")))
    wire: Wire = made(Wire, part, path)
    for name in ("root_certificates", "private_key"):
        if not Path(getattr(wire, name)).is_file():
            raise ParameterError(f"there is no file {getattr(wire, name)!r} ({name}).")
    return wire


def _read(path: str | Path) -> dict[str, Any]:
    known = (*_KEYS, *_SECTIONS)
    data = known_part(read_toml_file(path), known, "a silo's file")
    absent = [name for name in _NEEDED if name not in data]
    if absent:
        raise ParameterError(
            f"a silo's file needs {absent[0]!r}. It may have: {', '.join(known)}."
        )
    return data


def _part(data: Mapping[str, Any], name: str, path: str | Path) -> dict[str, Any]:
    part = data.get(name, {})
    if not isinstance(part, dict):
        raise ParameterError(f"{name!r} in {str(path)!r} must be a section: [{name}].")
    return dict(part)


def section(path: str | Path, name: str) -> dict[str, Any]:
    """Return a section of a silo's file; empty if it has none."""
    return _part(_read(path), name, path)


def made(kind: Any, part: dict[str, Any], path: str | Path) -> Any:
    """Return what a section of a file describes; unknown names are refused."""
    known = [field.name for field in fields(kind)]
    part = known_part(part, known, f"a section of {str(path)!r}")
    part = {k: tuple(v) if isinstance(v, list) else v for k, v in part.items()}
    try:
        return kind(**part)
    except TypeError as error:
        raise ParameterError(f"{str(path)!r}: {error}.") from None
