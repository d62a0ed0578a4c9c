"""How often intervals hold the truth about a messy file: the hospital's story, longer.

python benchmarks/messy_files.py [--runs 2000]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

import discreto as dp
from discreto.testing import simulate

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "stories"))

from messy import COLUMNS, write
from test_hospital import DATA, as_read, truths


def main(runs: int) -> None:
    """The share of runs in which each interval holds the truth."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "patients.csv", DATA)
        columns = {name: as_read(path, name) for name in COLUMNS}
    for question, truth in truths():
        hits = 0.0
        for seed in range(runs):
            table = dp.Table(columns, dp.Domain(COLUMNS), simulate(seed))
            found = table.answer(question, epsilon="0.5")
            ends = [
                np.ravel(part)[: np.size(truth)] for part in (found.low, found.high)
            ]
            slack = 1e-6 * np.abs(truth)
            hits += np.mean((ends[0] - slack <= truth) & (truth <= ends[1] + slack))
        spread = 2 * np.sqrt(0.05 * 0.95 / runs)
        print(f"{question.label:24} {hits / runs:.3f} (95 % ± {spread:.3f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    main(parser.parse_args().runs)
