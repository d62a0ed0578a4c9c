"""Local privacy: a survey, perturbed rows, and a classifier trained on them."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import discreto as dp
from discreto.local import LocalLearner, LocalSanitizer, RandomizedResponse
from discreto.testing import simulate

COLUMNS = {
    "mean radius": dp.Number(5, 30),
    "mean texture": dp.Number(5, 40),
    "worst area": dp.Number(0, 4500),
}


def main() -> None:
    """Three uses of perturbed rows."""
    # A survey: everybody throws two coins.
    truth = np.repeat(["yes", "no"], [300, 1700])
    survey = RandomizedResponse.two_coins(["no", "yes"], ledger=simulate(0)).fit()
    replies = survey.transform(truth)
    print(f"truth told with probability {survey.truth_:.2f}; 15 % said yes in truth")
    print(survey.frequencies(replies))

    # Rows of numbers and a class.
    bunch = load_breast_cancer(as_frame=True)
    X, y = bunch.data[list(COLUMNS)], bunch.target.to_numpy()
    cleaner = LocalSanitizer(dp.Domain(COLUMNS), epsilon=6, ledger=simulate(1))
    rows = cleaner.fit_transform(X)
    print(f"mean radius: {X['mean radius'].mean():.2f} in truth,")
    print(f"  from perturbed rows {cleaner.mean(rows, 'mean radius')}")

    # Any scikit-learn classifier, also inside a pipeline. Log areas are a public map.
    domain = dp.Domain(
        COLUMNS
        | {
            "worst area": dp.Number(0, 10),
            "benign": dp.Category([0, 1], missing=False),
        },
        target="benign",
    )
    logs = FunctionTransformer(
        lambda frame: frame.assign(**{"worst area": np.log1p(frame["worst area"])})
    )
    a, b, c, d = train_test_split(X, y, random_state=0)
    for epsilon in (1, 10, 40):
        learner = LocalLearner(
            GaussianNB(), epsilon=epsilon, domain=domain, ledger=simulate(2)
        )
        print(f"ε {epsilon}: {make_pipeline(logs, learner).fit(a, c).score(b, d):.3f}")


if __name__ == "__main__":
    main()
