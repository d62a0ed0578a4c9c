"""A temporary folder that goes when its process ends, however it ends.

A process that is killed cannot tidy up. So a folder has a lock that the system lets go
of with the last process that holds it. The process that makes the next folder removes
those that no process holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LOCK = "in-use"


@contextlib.contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """Make a folder of one's own, and remove it and those of dead processes.

    Parameters
    ----------
    prefix
        How its name starts. Only folders with this name, of the same user, whose lock
        no process holds, are removed.

    Yields
    ------
    pathlib.Path
        The folder. Processes forked meanwhile hold its lock, too.

    Examples
    --------
    >>> with scratch("discreto-example-") as folder:
    ...     print(folder.is_dir())
    True
    >>> folder.exists()
    False
    """
    for old in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        _remove_if_left(old)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    # Locked before it is named: no process finds a lock that is not held yet.
    lock = os.open(folder / f"{_LOCK}-soon", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.rename(folder / f"{_LOCK}-soon", folder / _LOCK)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _remove_if_left(folder: Path) -> None:
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:  # gone meanwhile, just being made, or not one of these
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except BlockingIOError:  # a process uses it
        return
    finally:
        os.close(lock)
