"""Numbers labelled by a private regressor: learning from made-up rows.

``python benchmarks/synthesis_labels.py`` prints for each table, way and seed the R² on
the other 30 % of real rows of scikit-learn's boosting that was trained on made-up rows
at (1, 1e-5), and how far the made-up target's distribution is from the real one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import discreto as dp

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TABLES = {"abalone": "rings", "steel_energy": "usage_kwh"}


def score(train: pd.DataFrame, test: pd.DataFrame, target: str) -> float:
    """R² on real rows."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    texts = [n for n in test if test[n].dtype.kind not in "if"]
    kinds = {n: sorted(set(test[n]) | set(train[n].dropna())) for n in texts}

    def features(rows: pd.DataFrame) -> pd.DataFrame:
        parts = {n: pd.Categorical(rows[n], categories=k) for n, k in kinds.items()}
        return rows.drop(columns=target).assign(**parts)

    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype", random_state=0
    )
    model.fit(features(train), train[target])
    return float(model.score(features(test), test[target]))


def main() -> None:
    """Run and print."""
    from discreto.synthesis import Synthesizer
    from discreto.testing import simulate

    for name, target in TABLES.items():
        frame = pd.read_parquet(DATA / f"{name}.parquet")
        domain = dp.Domain.load(DATA / f"{name}.domain.json").with_(target=target)
        frame = frame[[n for n in domain.columns if n != "date"]]
        domain = domain.select(list(frame))
        for seed in map(int, sys.argv[1:] or (0, 1, 2)):
            order = np.random.default_rng(seed).permutation(len(frame))
            train, test = (
                frame.iloc[part].reset_index(drop=True)
                for part in np.split(order, [int(0.7 * len(frame))])
            )
            line = f"{name} seed {seed}: real rows {score(train, test, target):.3f}"
            for labels in ("marginals", "model"):
                model: Any = Synthesizer(1, "1e-5", labels=labels)
                model.fit(dp.Table(train, domain, simulate(seed)))
                made = model.sample(len(train), random_state=0).dropna()
                places = np.linspace(0.01, 0.99, 99)
                far = made[target].quantile(places) - train[target].quantile(places)
                line += (
                    f", {labels} {score(made, test, target):.3f} (quantiles "
                    f"{far.abs().mean() / train[target].std():.3f} sd)"
                )
            print(line, flush=True)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path[:] = [part for part in sys.path if Path(part).resolve() != here]
    main()
