"""Where a ledger file may live: on a disk of this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from discreto.errors import LedgerError

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "fuse.sshfs", "ceph", "afs"}


def refuse_network(path: str, mounts: str = "/proc/mounts") -> None:
    """The write-ahead log needs shared memory, which a network file system lacks."""
    try:
        text = Path(mounts).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    folder = os.path.realpath(os.path.dirname(os.path.abspath(path))) + "/"
    best, kind = "", ""
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 3:
            continue
        # A space in a folder's name is written \040 there.
        point = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), words[1])
        if folder.startswith(point.rstrip("/") + "/") and len(point) >= len(best):
            best, kind = point, words[2]  # of mounts on one point the last one counts
    if kind in _NETWORK:
        raise LedgerError(
            f"{path!r} is on a network file system ({kind}), where two machines could "
            "spend the same budget. Keep the ledger on a local disk."
        )
