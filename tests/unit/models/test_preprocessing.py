"""Public transformers, and warnings about those that are not."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

import discreto as dp
from discreto.errors import DomainError, PrivacyWarning, UnsafeError
from discreto.local import LocalSanitizer
from discreto.models import GaussianNB, KMeans, NaiveBayes
from discreto.models.preprocessing import PublicOneHotEncoder, PublicScaler

DOMAIN = dp.Domain(
    {
        "age": dp.Number(0, 100, missing=True),
        "bmi": dp.Number(10, 60),
        "sex": dp.Category(["f", "m"], missing=False),
        "city": dp.Category([1, 2, 3], missing=True),
    }
)
ROWS = pd.DataFrame(
    {
        "age": [50.0, 200.0, np.nan, -1.0],
        "bmi": [10.0, 60.0, 35.0, 35.0],
        "sex": ["m", "f", "x", None],
        "city": [1, 3, None, 9],
    }
)


class TestScaler:
    def test_bounds_are_the_domains(self):
        out = PublicScaler(DOMAIN).fit_transform(ROWS[["bmi", "age"]])
        np.testing.assert_array_equal(out[:, 0], [0, 1, 0.5, 0.5])
        np.testing.assert_array_equal(out[:, 1], [0.5, 1, np.nan, 0])

    def test_fitting_looks_at_no_value(self):
        scaler = PublicScaler(DOMAIN).fit(ROWS[["age", "bmi"]])
        other = PublicScaler(DOMAIN).fit(10 * ROWS[["age", "bmi"]] - 7)
        assert pickle.dumps(scaler) == pickle.dumps(other)

    def test_arrays_have_the_numbers_of_the_domain(self):
        out = PublicScaler(DOMAIN).fit_transform([[25.0, 60.0]])
        assert out.tolist() == [[0.25, 1.0]]
        with pytest.raises(ValueError, match="features"):
            PublicScaler(DOMAIN).fit([[25.0]])

    def test_frames_of_all_makes_and_outputs(self):
        scaler = PublicScaler(DOMAIN).fit(pl.DataFrame({"bmi": [10.0, 35.0]}))
        assert scaler.get_feature_names_out().tolist() == ["bmi"]
        framed = PublicScaler(DOMAIN).set_output(transform="pandas")
        out = framed.fit_transform(ROWS[["bmi"]])
        assert out["bmi"].tolist() == [0, 1, 0.5, 0.5]

    @pytest.mark.parametrize("wrong", [None, "d.json"])
    def test_a_domain_is_needed(self, wrong):
        with pytest.raises(DomainError, match="needs a Domain"):
            PublicScaler(wrong).fit(ROWS[["age"]])

    def test_a_category_is_not_scaled(self):
        with pytest.raises(DomainError, match="'sex' is none"):
            PublicScaler(DOMAIN).fit(ROWS[["sex"]])


class TestEncoder:
    def test_columns_are_the_domains(self):
        encoder = PublicOneHotEncoder(DOMAIN)
        out = encoder.fit_transform(ROWS[["sex", "city"]])
        names = ["sex_f", "sex_m", "city_1", "city_2", "city_3", "city_missing"]
        assert encoder.get_feature_names_out().tolist() == names
        assert out[0].tolist() == [0, 1, 1, 0, 0, 0]
        assert out[1].tolist() == [1, 0, 0, 0, 1, 0]
        assert set(out.ravel()) <= {0.0, 1.0}

    def test_what_is_unknown_adds_no_column(self):
        one = PublicOneHotEncoder(DOMAIN).fit_transform(ROWS[["sex"]])
        two = PublicOneHotEncoder(DOMAIN).fit_transform(ROWS[["sex"]][:1])
        assert one.shape[1] == two.shape[1] == 2
        assert one[0].tolist() == two[0].tolist()

    def test_it_can_be_cloned(self):
        assert clone(PublicOneHotEncoder(DOMAIN)).domain is DOMAIN


def model(**more) -> GaussianNB:
    return GaussianNB(epsilon=1, bounds=(0, 1), classes=[0, 1], **more)


X = np.random.default_rng(0).uniform(size=(60, 2))
Y = (X[:, 0] > 0.5).astype(int)


class TestWarning:
    @pytest.mark.parametrize(
        "step",
        [
            MinMaxScaler(),
            make_pipeline(FunctionTransformer(), StandardScaler()),
            make_column_transformer((StandardScaler(), [0]), ("passthrough", [1])),
            make_union(FunctionTransformer(), MinMaxScaler()),
        ],
        ids=["scaler", "pipeline", "columns", "union"],
    )
    def test_steps_that_learn_are_named(self, step):
        with pytest.warns(PrivacyWarning, match=r"(MinMax|Standard)Scaler before"):
            make_pipeline(step, model()).fit(X, Y)

    @pytest.mark.parametrize(
        "step",
        [
            FunctionTransformer(),
            OneHotEncoder(categories=[[0, 1], [0, 1]], handle_unknown="ignore"),
            PublicScaler(dp.Domain.cube(2)),
            LocalSanitizer(dp.Domain.cube(2), epsilon=1),
            "passthrough",
        ],
        ids=["function", "given", "public", "local", "passthrough"],
    )
    def test_steps_that_do_not_are_not(self, step):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*was paid from a ledger of its own")
            if isinstance(step, OneHotEncoder):
                step.set_params(sparse_output=False)
            make_pipeline(step, model()).fit(X, Y)

    def test_a_simulation_is_not_warned_of(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulated = model(ledger=dp.testing.simulate())
            make_pipeline(MinMaxScaler(), simulated).fit(X, Y)

    def test_clusters_too(self):
        with pytest.warns(PrivacyWarning, match="MinMaxScaler"):
            make_pipeline(MinMaxScaler(), KMeans(2, epsilon=1, bounds=(0, 1))).fit(X)


class TestProcesses:
    def test_a_ledger_in_memory_says_what_to_do(self):
        ledger = dp.Ledger(epsilon=99)
        with pytest.raises(UnsafeError, match=r"in memory .* Use a ledger file"):
            pickle.loads(pickle.dumps(model(ledger=ledger))).fit(X, Y)
        assert ledger.total() == 0

    @pytest.mark.slow
    def test_joblib_keeps_the_reason(self):
        """The real thing: two processes."""
        with pytest.raises(UnsafeError, match=r"Use a ledger file\. Or keep n_jobs=1"):
            cross_val_score(
                model(ledger=dp.Ledger(epsilon=99)),
                *(X, Y),
                cv=2,
                n_jobs=2,
                error_score="raise",
            )

    def test_a_fitted_model_predicts_after_pickling(self):
        fitted = model(ledger=dp.Ledger(epsilon=1)).fit(X, Y)
        again = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
        assert fitted.ledger.total() == 1

    def test_a_ledger_file_travels(self, tmp_path):
        fitted = model(ledger=dp.Ledger(tmp_path / "l", epsilon=3))
        pickle.loads(pickle.dumps(fitted)).fit(X, Y)
        assert fitted.ledger.total() == 1


class TestNames:
    def test_a_model_of_a_table_knows_its_features(self, tmp_path):
        domain = dp.Domain(
            {"a": dp.Number(0, 1), "b": dp.Number(0, 1), "y": dp.Category([0, 1])},
            target="y",
        )
        rows = {"y": Y, "b": X[:, 1], "a": X[:, 0]}
        fitted = NaiveBayes(epsilon=1).fit(dp.Table(rows, domain, dp.Ledger(epsilon=1)))
        assert fitted.feature_names_in_.tolist() == ["a", "b"]
        assert fitted.n_features_in_ == 2
        dp.models.save(fitted, tmp_path / "m.json")
        again = dp.models.load(tmp_path / "m.json")
        assert again.feature_names_in_.tolist() == ["a", "b"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pd.DataFrame(rows)  # in another order, and with the target
            for one in (fitted, again):
                np.testing.assert_array_equal(one.predict(frame), one.predict(X))
