"""Maps that do not fit the domain are refused before a row could make them fail."""

from __future__ import annotations

import pytest
from brute import ADD

from discreto.errors import ParameterError
from discreto.kernel import clamp
from discreto.kernel.query import Block, Everyone, Ones, Sum
from discreto.queries import Memberships, Sides

SHORT = Sides(("y",), ("c",), ((0.5,),), (((-1.0,),),), (0.25,))
LONG = Sides(("y",), ("c",), ((0.5,),), (((-1.0, 1.0, 0.5),),), (0.25,))


@pytest.mark.parametrize("sides", [SHORT, LONG], ids=["short", "long"])
def test_sides_need_a_weight_for_each_category(sides):
    for query in (
        Sum(sides, (Block(Ones()),)),
        Sum(Everyone(), (Block(Memberships((sides,))),)),
    ):
        with pytest.raises(ParameterError):
            clamp.check(query, ADD)
