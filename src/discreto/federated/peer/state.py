"""Where a node was when it stopped. Everything in it has been released."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from discreto.core.documents import read_json
from discreto.core.query import Floats
from discreto.federated.messages import Message

FORMAT = 1


class PeerState:
    """A file that is written whole, before each round.

    Parameters
    ----------
    path
        The file; nothing: no state is kept.
    plan
        What all nodes have agreed on. The state of another run is no state.
    """

    def __init__(self, path: str | Path | None, plan: str) -> None:
        self._path = None if path is None else Path(path)
        self._plan = plan

    def read(self) -> Message | None:
        """Where the node was; nothing if it is new, or the file is of no use."""
        if self._path is None or not self._path.exists():
            return None
        try:
            data = read_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        known = isinstance(data, dict) and data.get("format") == FORMAT
        return data if known and data.get("plan") == self._plan else None

    def write(
        self,
        facts: dict[str, Message],
        number: int,
        weights: Floats,
        mean: Floats,
        path: list[Floats],
    ) -> None:
        """Note where the node is, in one step."""
        if self._path is None:
            return
        data: dict[str, Any] = {
            "format": FORMAT,
            "plan": self._plan,
            "facts": facts,
            "round": number,
            "weights": weights.ravel().tolist(),
            "mean": mean.ravel().tolist(),
            "path": [one.ravel().tolist() for one in path],
        }
        draft = self._path.with_name(self._path.name + ".part")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._path)
