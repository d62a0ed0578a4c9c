"""Build the site: ``scripts/docs``, or ``python docs/_site/build.py --out FOLDER``.

The pages of ``docs/`` are copied beside generated ones (API, command line, schemas,
errors, notebooks), Sphinx makes HTML of them, and every link of that is followed.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import links
import proof_status
import reference

import notebooks

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DOCS = ROOT / "docs"
# Pages that stand at the top of the repository, where people look for them.
TOP = ("CHANGELOG", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT")
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)([^)#]*)(#[^)]*)?\)")


def stage(folder: Path) -> None:
    """Copy the pages, and write those that are made from the code."""
    shutil.rmtree(folder, ignore_errors=True)
    ignored = shutil.ignore_patterns("_site", "__pycache__")
    shutil.copytree(DOCS, folder, ignore=ignored)
    for name in TOP:
        text = (ROOT / f"{name}.md").read_text(encoding="utf-8")
        (folder / f"{name.lower()}.md").write_text(rebased(text, ROOT), "utf-8")
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        copy = folder / page.relative_to(DOCS)
        copy.write_text(rebased(text, page.parent), encoding="utf-8")
    reference.write(folder / "reference")
    (folder / "proofs" / "status.md").write_text(proof_status.page(), encoding="utf-8")
    notebooks.write(ROOT / "notebooks", folder / "tutorials" / "notebooks")
    shutil.copytree(HERE / "static", folder / "_static")
    shutil.copy(HERE / "conf.py", folder)


def rebased(text: str, place: Path) -> str:
    """A page with its links as the site has them; what is not on it becomes a name."""

    def changed(link: re.Match[str]) -> str:
        words, target, anchor = link[1], link[2], link[3] or ""
        if not target:
            return link[0]
        path = (place / target).resolve()
        if path.parent == ROOT and path.stem in TOP:
            up = "../" * len(place.relative_to(DOCS).parts) if place != ROOT else ""
            return f"[{words}]({up}{path.stem.lower()}.md{anchor})"
        if path.suffix == ".ipynb" and path.parent == ROOT / "notebooks":
            page = DOCS / "tutorials" / "notebooks" / f"{path.stem}.md"
            here = DOCS if place == ROOT else place
            return f"[{words}]({Path(os.path.relpath(page, here)).as_posix()})"
        if not path.is_relative_to(DOCS):
            return words
        if place == ROOT:
            return f"[{words}]({path.relative_to(DOCS)}{anchor})"
        return link[0]

    return LINK.sub(changed, text)


def build(out: Path, jobs: str = "auto") -> int:
    """Make the site; the number of things that are wrong with it."""
    source = out.with_name(f"{out.name}-source")
    stage(source)
    line = ["-W", "--keep-going", "-q", "-E", "-j", jobs, "-d", str(out) + "-trees"]
    line = [sys.executable, "-m", "sphinx", *line, str(source), str(out)]
    code = subprocess.call(line, env=os.environ | {"DISCRETO_SITE": str(HERE)})
    broken = links.broken(out)
    for complaint in broken:
        print(complaint, file=sys.stderr)
    return len(broken) + (code != 0)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--jobs", default="auto")
    asked = parser.parse_args()
    wrong = build(asked.out.resolve(), asked.jobs)
    if wrong:
        sys.exit(f"{wrong} thing(s) are wrong with the site.")
    print(f"{asked.out / 'index.html'}: no warnings, no broken links.")


if __name__ == "__main__":
    main()
