"""Which files a table was opened on, and whether they are still the same.

Places of rows, selections of people and what is kept for batches belong to the files of
the opening. Laid over other rows they would let one person move any number of them. So
each file's state is noted when a table is opened, compared whenever the file is read,
and compared again before a charge and after a fold (:class:`discreto.core.gate.Gate`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from discreto.errors import DiscretoError

CHANGED = "its files were changed: open the table anew, with table.reload()"
_TICK = 0.02  # seconds; file systems keep times in steps of up to 10 ms


class FileState(NamedTuple):
    """Facts that change with a file's content; elsewhere only its size is known."""

    size: int
    device: int | None = None
    inode: int | None = None
    modified: int | None = None
    changed: int | None = None
    groups: int | None = None  # row groups of a Parquet file

    def elsewhere(self) -> FileState:
        """Return what another machine can compare: it may have a copy of the file."""
        return FileState(self.size, groups=self.groups)

    def check(self, handle: int) -> None:
        """Refuse an open file that is not in this state."""
        found = _state(os.fstat(handle))
        if (found if self.inode is not None else found.elsewhere()) != self._plain():
            raise OSError("a file was changed while its table is open.")

    def check_groups(self, groups: int) -> None:
        """Refuse a Parquet file with another number of row groups."""
        if self.groups is not None and self.groups != groups:
            raise OSError("a file was changed while its table is open.")

    def _plain(self) -> FileState:
        return self._replace(groups=None)


def _state(found: os.stat_result) -> FileState:
    times = found.st_mtime_ns, found.st_ctime_ns
    return FileState(found.st_size, found.st_dev, found.st_ino, *times)


def note_state(path: Path) -> FileState:
    """Return the state of a file that any later change will differ from.

    A file that was written just now could be written again within one step of the file
    system's clock. So its times are let grow old first.
    """
    found = os.stat(path)
    if 0 <= time.time() - max(found.st_mtime, found.st_ctime) < _TICK:
        time.sleep(_TICK)
        found = os.stat(path)
    return _state(found)


class OpenedFiles:
    """The files of a table as they were when it was opened.

    Parameters
    ----------
    states
        The state of each file, by its absolute path.
    listed
        Which files a folder or pattern names now; None for paths of files.
    """

    def __init__(
        self,
        states: dict[str, FileState],
        listed: Callable[[], Sequence[Path]] | None = None,
    ) -> None:
        self._states, self._listed = states, listed
        self._gone = False

    def unchanged(self) -> bool:
        """Return True if all files are as they were; once changed is changed."""
        self._gone = self._gone or not self._same()
        return not self._gone

    def _same(self) -> bool:
        try:
            if self._listed is not None:
                found = {str(path.absolute()) for path in self._listed()}
                if found != set(self._states):
                    return False
            for path, noted in self._states.items():
                if _state(os.stat(path)) != noted._plain():
                    return False
        except (OSError, DiscretoError):  # gone, or not to be read any more
            return False
        return True

    def unready(self) -> str:
        """Return why these rows cannot be asked about; empty if they can."""
        return "" if self.unchanged() else CHANGED

    def sessions(self) -> int:
        """Return 0: files have no connection."""
        return 0

    def recovered(self, since: int) -> bool:
        """Return False: there is no connection that could be replaced."""
        return False
