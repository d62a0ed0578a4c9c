"""Databases and lazy tables: questions become queries where that is exact.

``backends`` says what differs between engines, ``columns`` reads values as rows in
memory are read, ``cells``, ``features`` and ``expressions`` translate the maps and
``sums`` puts a question together. ``people`` bounds what a person contributes.
"""


class Untranslated(Exception):
    """There is no translation of the part that ``what`` names: rows are read."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
