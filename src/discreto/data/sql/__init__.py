"""Databases and lazy tables: questions become queries where that is exact.

``backends`` has what differs between engines. ``columns`` reads values as memory does.
``cell_maps``, ``maps`` and ``expressions`` translate, in the terms of ``row_language``.
``stages`` keeps translations to one row, ``sums`` clamps, adds up and counts, and
``people`` bounds what a person contributes.
"""


class Untranslated(Exception):
    """There is no translation of the part that ``what`` names: rows are read."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
