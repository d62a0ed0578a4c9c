"""The name of a statistic, its columns and options become the statistic."""

from __future__ import annotations

from discreto.cli.question_words import from_words
from discreto.stats import Count, Histogram, Mean, Quantile, Quantiles
from discreto.stats import text as sentences

NAMED = {
    "proportion": "share",
    "weighted_mean": "weighted",
    "mean_difference": "difference of mean",
    "proportion_difference": "difference of the share",
    "quantile_difference": "difference of the median",
    "correlation_test": "correlation",
    "unknown_keys": "keys",
    "crosstab": "table",
    "gini": "Gini",
    "lorenz": "Lorenz",
}


class TestWords:
    def test_every_name_makes_what_it_says(self) -> None:
        for name, kind in sentences.KINDS.items():
            columns = ["x", "y"][: kind.least]
            chance = "0.9" if name == "quantile" else None
            bins = ["1,2"] if name == "distribution" else None
            wanted = from_words(name, columns, probability=chance, bins=bins)
            assert NAMED.get(name, name) in wanted.label
            assert all(column in wanted.label for column in columns)

    def test_groups(self) -> None:
        assert from_words("median", ["x"], by=["a"]).by == ("a",)
        assert from_words("std", ["x"], by=["a"]).by == ("a",)

    def test_statistics(self) -> None:
        half = from_words("quantile", ["x"], probability="1/2")
        assert half == Quantile("x")
        several = from_words("quantile", ["x"], probability="0.25, 0.5")
        assert isinstance(several, Quantiles)
        assert [float(p) for p in several.probabilities] == [0.25, 0.5]
        assert from_words("count", [], by=["a", "b"]) == Count(("a", "b"))
        assert from_words("mean", ["x"]) == Mean("x")
        assert from_words("histogram", ["x"], bins=["7"]) == Histogram(("x",), 7)
        cut = from_words("histogram", ["x"], bins=["1,2.5"])
        assert cut == Histogram(("x",), (1.0, 2.5))
        one = from_words("histogram", ["x"], bins=["5,"])
        assert one == Histogram(("x",), (5.0,))
