"""Seven silos learn one line: three ways, a graph, and what each promises."""

from __future__ import annotations

import numpy as np

import discreto as dp
from discreto.federated import (
    FederatedAveraging,
    FederatedTable,
    Federation,
    GraphLearning,
    Policy,
    ProximalPoint,
    Silo,
    simulate,
)
from discreto.models import NaiveBayes

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 100),
        "dose": dp.Number(0, 10),
        "days": dp.Number(0, 30),
        "ward": dp.Category(["a", "b"]),
    },
    target="days",
)


def hospital(seed: int, rows: int) -> dict[str, np.ndarray]:
    """Made-up patients; each hospital's are a little older or younger."""
    coins = np.random.default_rng(seed)
    age = coins.normal(50 + 2 * seed, 15, rows)
    dose = coins.normal(5, 2, rows)
    days = 2 + 0.12 * age - 0.6 * dose + coins.normal(0, 3, rows) + 6
    ward = np.where(age + coins.normal(0, 10, rows) > 56, "b", "a")
    return {"age": age, "dose": dose, "days": days, "ward": ward}


def main() -> None:
    """Simulate first, with public data; then ask silos that have real ledgers."""
    parts = [hospital(seed, 200 + 100 * seed) for seed in range(7)]
    for learner in (
        FederatedAveraging(epsilon=1),
        FederatedAveraging(epsilon=1, rounds=20, local_steps=5),
        ProximalPoint(epsilon=1),
        GraphLearning(epsilon=1, graph="seven"),
    ):
        print(simulate(learner, parts, DOMAIN, seeds=range(5)))

    policy = Policy(partners={"registry": 3}, least_noise=0.5)
    silos = {
        f"hospital {k + 1}": Silo(
            dp.Table(part, DOMAIN, dp.Ledger(epsilon=3, delta="1e-5")),
            policy,
            rows=len(part["age"]),
        )
        for k, part in enumerate(parts)
    }
    together = Federation(silos, partner="registry")
    model = together.fit(FederatedAveraging(epsilon=1), "days")
    print(dict(zip(model.coef_names_, model.coef_.round(3).tolist(), strict=True)))
    print(model.guarantee)

    table = FederatedTable(together)
    # With a delta, like the run before: a ledger adds up what is of one kind.
    print(dp.stats.mean(table, "age", epsilon="0.5", delta="1e-5"))
    print(NaiveBayes(epsilon=1, delta="1e-5").fit(table, "ward").privacy_)
    print(silos["hospital 1"].ledger)


if __name__ == "__main__":
    main()
