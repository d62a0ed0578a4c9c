"""The command that adds an extra to this copy of discreto.

No package index has discreto yet, so ``pip install`` with its name and an extra fails,
or installs a package of the same name that is not this one. The command names the
place that this copy came from instead.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "discreto"


def install_command(extra: str) -> str:
    """Return the shell command that installs an extra for this copy.

    Parameters
    ----------
    extra
        The name of an extra, such as ``"service"``.

    Returns
    -------
    str
        A command with the folder of the sources, the wheel or the repository that this
        copy came from; without a record of that, with the packages of the extra.
    """
    folder = Path(__file__).resolve().parents[3]
    if (folder / "pyproject.toml").is_file():  # run from the sources
        url = folder.as_uri()
        return command_from(extra, {"url": url, "dir_info": {"editable": True}})
    try:
        found = distribution(NAME)
    except PackageNotFoundError:
        return command_from(extra, None)
    origin = found.read_text("direct_url.json")
    if origin:
        return command_from(extra, json.loads(origin))
    return command_from(extra, None, found.requires or ())


def command_from(
    extra: str, origin: dict[str, Any] | None, requires: Sequence[str] = ()
) -> str:
    """Return the command for a copy with this origin.

    Parameters
    ----------
    extra
        The name of an extra.
    origin
        The contents of ``direct_url.json``, if the installer left one.
    requires
        The requirements of the package, each with its marker.

    Examples
    --------
    >>> wheel = {"url": "https://example.org/discreto-1-py3-none-any.whl"}
    >>> command_from("excel", wheel | {"archive_info": {}})
    'pip install "discreto[excel] @ https://example.org/discreto-1-py3-none-any.whl"'
    >>> command_from("excel", None, ["openpyxl>=3.1.5; extra == 'excel'"])
    'pip install "openpyxl>=3.1.5"'
    >>> command_from("excel", None)
    'pip install ".[excel]" in the folder of the sources'
    """
    if origin is None:
        packages = _packages(extra, requires)
        in_folder = f'pip install ".[{extra}]" in the folder of the sources'
        return f"pip install {' '.join(packages)}" if packages else in_folder
    url = str(origin["url"])
    if "dir_info" in origin:
        option = "--editable " if origin["dir_info"].get("editable") else ""
        return f'pip install {option}"{url2pathname(urlsplit(url).path)}[{extra}]"'
    if "vcs_info" in origin:
        made = origin["vcs_info"]
        url = f"{made['vcs']}+{url}@{made['commit_id']}"
    return f'pip install "{NAME}[{extra}] @ {url}"'


def _packages(extra: str, requires: Sequence[str]) -> list[str]:
    """Return the packages that an extra adds, in quotes."""
    split = (one.partition(";") for one in requires)
    wanted = (f"extra == '{extra}'", f'extra == "{extra}"')
    return [
        f'"{package.strip()}"'
        for package, _, marker in split
        if any(one in marker for one in wanted)
    ]


__all__ = ["command_from", "install_command"]
