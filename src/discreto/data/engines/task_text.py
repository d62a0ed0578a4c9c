"""The text of a question on its way to a worker.

A question about a boosted tree holds all trees before it. Each of them is written,
packed and read once, not once for every question: so the work grows with the number of
trees, not with its square.
"""

from __future__ import annotations

import base64
import json
import zlib
from functools import lru_cache
from typing import Any

from discreto.core.maps import KINDS
from discreto.core.maps.row_partition import TallyWithin
from discreto.core.maps.trees import Grid, Tree
from discreto.core.query_json import decode, encode

# Workers get what the gate asks, which may be about a part; strangers may not ask that.
WORKER_KINDS = KINDS | {"TallyWithin": TallyWithin}
_PACKED = "packed"


def write_question(query: Any) -> str:
    """A question as text, for ``read_question``."""
    return json.dumps(encode(query, _packed))


def read_question(text: str) -> Any:
    """The question of a text. Only for what this process's owner wrote."""
    return decode(_unpack(json.loads(text)), WORKER_KINDS)


def _packed(part: Any) -> Any:
    """A tree or a grid as one short text; anything else is written as it is."""
    if not isinstance(part, Tree | Grid):
        return None
    memory = part.__dict__  # it is frozen, so its text stays what it is
    if _PACKED not in memory:
        text = json.dumps(encode(part)).encode()
        memory[_PACKED] = base64.b85encode(zlib.compress(text, 6)).decode()
    return {_PACKED: memory[_PACKED]}


def _unpack(data: Any) -> Any:
    if isinstance(data, dict):
        if _PACKED in data:
            return _part(data[_PACKED])
        return {name: _unpack(value) for name, value in data.items()}
    return [_unpack(value) for value in data] if isinstance(data, list) else data


@lru_cache(maxsize=4096)
def _part(packed: str) -> Any:
    text = zlib.decompress(base64.b85decode(packed))
    return decode(json.loads(text), WORKER_KINDS)
