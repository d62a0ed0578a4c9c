"""Sums of columns with gaps, which also count the rows with a value.

For columns that start or end at 0 that is free. A row gives u to one sum and 1 - u to
another, where u in [0, 1] is its value over the bound that is not 0. Both together move
by one, as u alone does. So the sum of u has the noise that it has alone, and both sums
together are the number of rows. For other columns a count gets 1/20 of the cost.
"""

from __future__ import annotations

from fractions import Fraction

from discreto.core.domain.domain import Number
from discreto.core.gate import Measurement, Noise
from discreto.core.maps import Ones, Values
from discreto.core.query import Block
from discreto.stats._intervals import STEP, Floats

COUNT_SHARE = Fraction(1, 20)  # of the cost, for a count of rows that is not free


def from_zero(column: Number) -> bool:
    """Return True if a sum of this column can count its rows at no cost."""
    return 0 in (column.lower, column.upper)


def counting_block(name: str, column: Number, share: Fraction) -> Block:
    """Return the block of a column's sum, which counts rows if that is free."""
    if from_zero(column):
        return Block(Values((name,)), "pair", share)
    return Block(Values((name,), origin="zero"), share=share)


def counting_blocks(name: str, column: Number) -> tuple[Block, ...]:
    """Return the block of a column's sum first, and one that counts rows last."""
    if from_zero(column):
        return (counting_block(name, column, Fraction(1)),)
    return counting_block(name, column, 1 - COUNT_SHARE), Block(
        Ones(), share=COUNT_SHARE
    )


def sums_of(answer: Measurement, block: int, column: Number) -> tuple[Floats, float]:
    """Return the sums of a ``counting_block``, and the size of one step of noise.

    Both are parts of the bound that is further from 0.
    """
    sums = answer.tables[block]
    if not from_zero(column):
        return sums[:, 0] / STEP, 1 / STEP
    # The two sums are 2u and 2 - 2u in steps if the column starts at 0.
    found = sums[:, 0] if column.lower == 0 else -sums[:, 1]
    return found / (2 * STEP), 1 / (2 * STEP)


def noisier(
    first: tuple[Noise, float], second: tuple[Noise, float]
) -> tuple[Noise, float]:
    """Return the noise and step, of two of them, whose product varies more."""
    return max(first, second, key=lambda one: one[0].variance * one[1] ** 2)
