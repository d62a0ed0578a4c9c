"""Temporary folders of the service: none stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreto.service.metrics_folder import scratch

HOLD = """
import sys, time
from discreto.service.metrics_folder import scratch
with scratch("held-") as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    return tmp_path


def test_a_killed_process_leaves_a_folder_that_the_next_one_removes(
    place: Path,
) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE) as dead:
        assert dead.stdout is not None
        left = Path(dead.stdout.readline().decode().strip())
        with scratch("held-"):
            assert left.is_dir()  # its process lives
        dead.send_signal(signal.SIGKILL)
        dead.wait()
    assert left.is_dir()
    with scratch("held-") as folder:
        assert not left.exists()
    assert not folder.exists()


def test_only_folders_with_a_free_lock_go(place: Path) -> None:
    (place / "held-foreign").mkdir()  # no lock: somebody else's, or just being made
    (place / "target").mkdir()
    (place / "target" / "in-use").touch()
    os.symlink(place / "target", place / "held-link")
    (place / "held-left").mkdir()
    (place / "held-left" / "in-use").touch()
    with scratch("held-") as first, scratch("held-") as second:
        assert first.is_dir()
        assert second.is_dir()
        assert first.stat().st_mode & 0o777 == 0o700
    left = sorted(path.name for path in place.iterdir())
    assert left == ["held-foreign", "held-link", "target"]
    assert (place / "target" / "in-use").exists()


def test_a_fault_removes_the_folder(place: Path) -> None:
    with pytest.raises(KeyError), scratch("held-"):
        raise KeyError
    assert not list(place.iterdir())
