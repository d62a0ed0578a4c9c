"""Pages from the notebooks, with the outputs that are stored in them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

INDEX = """# Notebooks

Five stories about tables. Each is a script (`notebooks/NAME.py`, in the percent form
that Jupytext, VS Code and Spyder open) and a notebook (`notebooks/NAME.ipynb`) with the
same cells. The tests run all of them; the outputs here are of one run, and the noise is
fresh every time.

```{{toctree}}
:maxdepth: 1

{names}
```
"""


def write(source: Path, target: Path) -> None:
    """A page for each notebook, and their list."""
    target.mkdir(parents=True)
    paths = sorted(source.glob("*.ipynb"))
    for path in paths:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = [
            _cell(cell, f"{path.stem}-{n}", target) for n, cell in enumerate(cells)
        ]
        page = "\n\n".join(part for part in parts if part)
        (target / f"{path.stem}.md").write_text(page + "\n", encoding="utf-8")
    names = "\n".join(path.stem for path in paths)
    (target / "index.md").write_text(INDEX.format(names=names), encoding="utf-8")


def _cell(cell: dict[str, Any], name: str, folder: Path) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    printed = ""
    parts = [f"```python\n{source}\n```"]
    for number, output in enumerate(cell["outputs"]):
        data = output.get("data", {})
        if "image/png" in data:
            picture = folder / f"{name}-{number}.png"
            picture.write_bytes(base64.b64decode(data["image/png"]))
            parts.append(f"![What the code above draws]({picture.name})")
        else:
            printed += "".join(output.get("text") or data.get("text/plain", ""))
    if printed:
        parts.insert(1, f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts)
