"""Every model against the peer's figures: ``python benchmarks/utility [seeds]``.

Accuracy or R² (higher is better) and inertia ratios (lower is better), mean and spread
over the seeds. The peer is diffprivlib 0.6.6; each module says how it was run.
"""

from __future__ import annotations

import importlib
import sys

MODULES = ("naive_bayes", "logistic", "linear", "kmeans", "neighbors")


def main(seeds: int) -> None:
    """Print one table for all models."""
    print("| data | model | ε | ours, mean (spread) | diffprivlib | |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name in MODULES:
        for row in importlib.import_module(name).rows(seeds):
            if row["epsilon"] is None:  # a reference without noise
                continue
            peer = row.get("peer")
            low = name == "kmeans"
            ahead = None if peer is None else (row["mean"] < peer) == low
            verdict = {None: "", True: "ahead", False: "behind"}[ahead]
            shown = "-" if peer is None else f"{peer:.3g}"
            mean, spread = row["mean"], row["spread"]
            print(
                f"| {row['data']} | {row['model']} | {row['epsilon']:g} "
                f"| {mean:.3f} ({spread:.2f}) | {shown} | {verdict} |",
                flush=True,
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
