"""The command for an extra names the place that a copy came from."""

from __future__ import annotations

import re
import shlex
import subprocess
import venv
from pathlib import Path

import pytest

from discreto.text.install_commands import command_from, install_command

ROOT = Path(__file__).parents[2]


def test_a_copy_run_from_its_sources_names_their_folder():
    *_, place = shlex.split(install_command("excel"))
    folder, extra = re.fullmatch(r"(.*)\[(\w+)\]", place).groups()
    assert extra == "excel"
    assert Path(folder, "pyproject.toml").is_file()


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (
            {"url": "file:///srv/dis%20creto", "dir_info": {}},
            'pip install "/srv/dis creto[sql]"',
        ),
        (
            {"url": "file:///srv/discreto", "dir_info": {"editable": True}},
            'pip install --editable "/srv/discreto[sql]"',
        ),
        (
            {"url": "file:///d/discreto-1-py3-none-any.whl", "archive_info": {}},
            'pip install "discreto[sql] @ file:///d/discreto-1-py3-none-any.whl"',
        ),
        (
            {
                "url": "https://example.org/discreto.git",
                "vcs_info": {"vcs": "git", "commit_id": "abc"},
            },
            'pip install "discreto[sql] @ git+https://example.org/discreto.git@abc"',
        ),
        (None, 'pip install ".[sql]" in the folder of the sources'),
    ],
)
def test_every_origin_has_its_command(origin, command):
    assert command_from("sql", origin) == command


def test_a_copy_without_a_record_names_the_packages_of_the_extra():
    requires = ['a[b]>=1 ; extra == "sql"', "c>=2; extra == 'excel'", "d"]
    assert command_from("sql", None, requires) == 'pip install "a[b]>=1"'


def test_the_command_of_a_copy_installed_from_a_folder_is_one_that_pip_accepts(
    tmp_path,
):
    """A small package with this module is built, installed and asked."""
    sources = tmp_path / "some sources"
    (sources / "src" / "discreto" / "text").mkdir(parents=True)
    (sources / "src" / "discreto" / "__init__.py").write_text("")
    (sources / "src" / "discreto" / "text" / "__init__.py").write_text("")
    module = (ROOT / "src" / "discreto" / "text" / "install_commands.py").read_text(
        encoding="utf-8"
    )
    (sources / "src" / "discreto" / "text" / "install_commands.py").write_text(module)
    (sources / "pyproject.toml").write_text(PROJECT)
    (sources / "backend.py").write_text(BACKEND)
    venv.create(tmp_path / "env", with_pip=True)
    python = next((tmp_path / "env").glob("*/python"))
    pip = [python, "-m", "pip"]
    install = [*pip, "install", "--quiet", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*install, sources], check=True)
    asked = (
        "from discreto.text.install_commands import install_command;"
        "print(install_command('more'))"
    )
    done = subprocess.run(
        [python, "-c", asked], check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.strip() == f'pip install "{sources}[more]"'
    again = shlex.split(done.stdout)[2:]
    subprocess.run([*install, "--dry-run", *again], check=True)


PROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
# The least that builds a wheel, as no package index is asked.
BACKEND = """
import pathlib, zipfile

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = "discreto-1-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory, name), "w") as file:
        for path in pathlib.Path("src").rglob("*.py"):
            file.write(path, path.relative_to("src").as_posix())
        info = "discreto-1.dist-info/"
        about = ["Metadata-Version: 2.1", "Name: discreto", "Version: 1"]
        about += ["Provides-Extra: more", ""]
        file.writestr(info + "METADATA", chr(10).join(about))
        wheel = ["Wheel-Version: 1.0", "Generator: t", "Root-Is-Purelib: true"]
        wheel += ["Tag: py3-none-any", ""]
        file.writestr(info + "WHEEL", chr(10).join(wheel))
        file.writestr(info + "RECORD", "")
    return name
"""
