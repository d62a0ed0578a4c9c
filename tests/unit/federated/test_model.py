"""Files of federated models are read whole or not at all."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pytest

import discreto as dp
from discreto.core.cost import Cost
from discreto.core.documents import CHECKSUM, sealed
from discreto.errors import ParameterError
from discreto.federated.guarantee import Guarantee
from discreto.federated.model import FederatedModel

DOMAIN = dp.Domain(
    {"a": dp.Number(0, 9), "c": dp.Category(["p", "q"]), "y": dp.Category(["n", "y"])}
)
MODEL = FederatedModel(
    DOMAIN,
    "y",
    ("a", "c"),
    np.random.default_rng(0).normal(size=(3, 2, 5)),
    Guarantee({"north": Cost.of(1), "south": Cost.of("0.5")}),
    {"east": "no answer"},
    (0.25, 0.0, 0.0, 0.0),
)
ROWS = {"a": [1.0, 8.0, np.nan], "c": ["p", "q", "p"]}


def test_a_file_is_read_back(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m.json")
    again = FederatedModel.load(tmp_path / "m.json")
    assert (again.predict_proba(ROWS) == MODEL.predict_proba(ROWS)).all()
    assert str(again.guarantee) == str(MODEL.guarantee)


def test_no_change_of_one_digit_is_read_as_another_model(tmp_path: Path) -> None:
    MODEL.save(tmp_path / "m.json")
    text, draw, same = (tmp_path / "m.json").read_text(), random.Random(0), 0
    digits = [found.start() for found in re.finditer(r"\d", text)]
    for place in draw.sample(digits, 200):
        other = str((int(text[place]) + draw.randrange(1, 10)) % 10)
        (tmp_path / "m.json").write_text(text[:place] + other + text[place + 1 :])
        try:
            again = FederatedModel.load(tmp_path / "m.json")
        except ParameterError:
            continue
        same += 1
        assert again.to_dict() == MODEL.to_dict()
    assert same < 10


@pytest.mark.parametrize("key", [k for k in MODEL.to_dict() if k != CHECKSUM])
@pytest.mark.parametrize("value", [..., None, "abc", [], {}, -1, True, [[1]], ["a"]])
def test_broken_parts_are_refused(key: str, value: object) -> None:
    data = {k: v for k, v in MODEL.to_dict().items() if k not in (key, CHECKSUM)}
    if (key, value) in [("fill", []), ("dropped", {})]:
        pytest.skip("nothing has to be in it")
    if value is not ...:
        data[key] = value
    with pytest.raises(ParameterError):
        FederatedModel.from_dict(sealed(data))


def test_numbers_that_are_not_finite_and_other_shapes_are_refused() -> None:
    plain = {k: v for k, v in MODEL.to_dict().items() if k != CHECKSUM}
    path = np.array(plain["path"])
    for wrong in (path * np.nan, path[..., :-1], path[0], path[:0], path[:, :0]):
        with pytest.raises(ParameterError):
            FederatedModel.from_dict(sealed(plain | {"path": wrong.tolist()}))
    for fill in ([0.0], [float("nan")] * 4):
        with pytest.raises(ParameterError):
            FederatedModel.from_dict(sealed(plain | {"fill": fill}))


def test_a_file_of_earlier_versions_is_read_with_a_warning(tmp_path: Path) -> None:
    data = MODEL.to_dict() | {"discreto_federated": 1}
    with pytest.raises(ParameterError, match="checksum"):
        FederatedModel.from_dict(data)
    del data[CHECKSUM]
    (tmp_path / "m.json").write_text(json.dumps(data))
    with pytest.warns(UserWarning, match="no checksum"):
        again = FederatedModel.load(tmp_path / "m.json")
    assert (again.coef_ == MODEL.coef_).all()
    (tmp_path / "m.json").write_text("[" * 10**5)
    with pytest.raises(ParameterError, match="cannot be read"):
        FederatedModel.load(tmp_path / "m.json")
