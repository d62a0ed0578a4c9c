"""Cluster iris flowers with k-means and fuzzy c-means for epsilon 1 each."""

from __future__ import annotations

from sklearn.datasets import load_iris

import discreto as dp
from discreto.models import FuzzyCMeans, KMeans

COLUMNS = {
    "sepal length": dp.Number(4, 8, unit="cm"),
    "sepal width": dp.Number(2, 4.5, unit="cm"),
    "petal length": dp.Number(1, 7, unit="cm"),
    "petal width": dp.Number(0, 2.5, unit="cm"),
}


def main() -> None:
    """Plan, fit, look at the centres."""
    flowers = load_iris()
    domain = dp.Domain(COLUMNS)
    columns = dict(zip(COLUMNS, flowers.data.T, strict=True))
    ledger = dp.Ledger(epsilon=2)
    table = dp.Table(columns, domain, ledger)

    model = KMeans(3, epsilon=1, random_state=0)
    print(model.plan(domain))
    model.fit(table)
    print("\ncentres (cm) and noisy sizes")
    pairs = zip(model.cluster_centers_, model.cluster_sizes_, strict=True)
    for centre, size in pairs:
        print("  ", centre.round(1), f"{size:.0f}")

    soft = FuzzyCMeans(3, epsilon=1, random_state=0).fit(table)
    print("\nmemberships of a flower of your own")
    print("  ", soft.memberships([[6.0, 3.0, 4.8, 1.7]]).round(2))
    print("\n", ledger, sep="")


if __name__ == "__main__":
    main()
