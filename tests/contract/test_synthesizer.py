"""The contract of models, as far as it is about what is asked, paid and kept.

Questions of a synthesizer are about views, so how far rows move them is in the
transcript audit and in ``properties/test_marginals.py``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_models import (  # noqa: F401  (they run here with the case below)
    test_bad_epsilon_spends_nothing,
    test_nothing_grows_with_the_table,
    test_order_of_rows_does_not_matter,
    test_parameters_are_not_changed_by_fit,
    test_plan_equals_what_is_charged,
)

import discreto as dp
from discreto.testing import simulate

SMALL = {"rounds": 2, "bins": {"a": 3, "b": 3, "c": 2}}
SUMS = SMALL | {"rounds": 1, "selection": "counts"}
WEIGHED = SMALL | {"weights": {"a": 3, ("b", "label"): 2}}
TREE = {"bins": SMALL["bins"], "structure": "tree"}
KINDS = ("number", "category")


@pytest.fixture(
    params=[SMALL, SUMS, WEIGHED, TREE], ids=["scores", "sums", "weights", "tree"]
)
def case(request, all_cases):
    changes = {"params": request.param, "target": "label", "kinds": KINDS}
    return replace(all_cases[0], name="Synthesizer", varies=True, **changes)


@pytest.mark.parametrize("kind", ["empty", "one row", "missing", "foreign"])
def test_rows_are_drawn_whatever_the_table_holds(case, kind):
    rows = {"empty": 0, "one row": 1}.get(kind, 30)
    data = case.data(rows)
    for name in data:
        if kind == "missing":
            data[name] = np.full(rows, None)
        elif kind == "foreign":
            data[name] = np.array(["?", b"!", 3, None, float("inf")] * 6, dtype=object)
    for noise in (True, False):
        table = dp.Table(data, case.domain(), simulate(1, noise=noise))
        made = case.make().fit(table).sample(20, random_state=0)
        assert len(made) == 20
        assert made["b"].dropna().between(-1, 1).all()
        assert made["label"].dropna().isin(["no", "yes"]).all()
