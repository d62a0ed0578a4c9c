"""Broken model files: how many are noticed, and when.

Run: python benchmarks/model_files.py --changes 300

Every kind of model is fitted and saved, and its file is broken in three ways: one digit
is changed, bytes are damaged, and single parts of its structure are dropped or replaced
with a checksum that fits again. Counted is whether ``load`` refuses ("refused"), the
model predicts as before ("same"), predicts something else ("OTHER"), or another error
than ours is raised ("FOREIGN"). Ends with 1 if there is any of the last two.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

HELPERS = Path(__file__).parents[1] / "tests" / "properties"


def main() -> int:
    """Break files and print a line for each model and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=300, help="of each file and way")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.path.insert(0, str(HELPERS))
    import model_files

    bad = 0
    for name in model_files.CASES:
        text = model_files.saved(name)
        ways = {
            "digits": model_files.flips(text, given.changes, given.seed),
            "bytes": (
                raw.decode("utf-8", "replace")
                for raw in model_files.damages(text, given.changes, given.seed)
            ),
            "structures": (
                model_files.resealed(data) for _, data in model_files.structures(text)
            ),
        }
        for way, texts in ways.items():
            found = Counter(model_files.verdict(name, one) for one in texts)
            bad += sum(many for said, many in found.items() if said[0].isupper())
            print(f"{name:28} {way:10} {len(text):8} letters  {dict(found)}")
    print(f"{bad} broken files were read as another model or raised a foreign error")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
