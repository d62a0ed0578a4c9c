"""Configuration files against dataclasses: sections, paths, and refusals."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from discreto.errors import ParameterError
from discreto.text.toml_config import read_config, relative


@dataclass(frozen=True)
class Part:
    path: str = relative()
    many: tuple[int, ...] = ()


@dataclass(frozen=True)
class Whole:
    name: str
    state: str = relative(default="here.state")
    other: str | None = relative(default=None)
    one: Part | None = None
    parts: Mapping[str, Part] = field(default_factory=dict)
    words: Mapping[str, int] | None = None


def read(folder, text):
    (folder / "c.toml").write_text(text, encoding="utf-8")
    return read_config(folder / "c.toml", Whole, "a test's file")


def test_sections_become_dataclasses_and_paths_absolute(tmp_path):
    text = """
    name = 3
    words = {a = 1}
    [one]
    path = "x"
    many = [1, 2]
    [parts.left]
    path = "/abs/y"
    """
    found = read(tmp_path, text)
    assert found.name == "3"
    assert found.state == str(tmp_path / "here.state")
    assert found.other is None
    assert found.one == Part(str(tmp_path / "x"), (1, 2))
    assert found.parts == {"left": Part("/abs/y")}
    assert found.words == {"a": 1}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "a test's file needs 'name'. It may have: name, state"),
        ('nam = "x"', "does not know 'nam'. Did you mean 'name'?"),
        ('name = "x"\none = 1', "'one' must be a section: [one]."),
        ('name = "x"\nparts = 1', "parts are sections: [parts.NAME]."),
        ('name = "x"\nparts.a = 1', "'parts.a' must be a section: [parts.a]."),
        ('name = "x"\nwords = 1', "'words' must be a section: [words]."),
        ('name = "x"\n[one]', "[one] needs 'path'."),
        ('name = "x"\n[parts.a]\npaht = "p"', "[parts.a] does not know 'paht'."),
        ("name =", "is not a readable TOML file"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(tmp_path, text, wanted):
    with pytest.raises(ParameterError) as refusal:
        read(tmp_path, text)
    assert wanted in str(refusal.value)
