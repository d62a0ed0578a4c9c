"""Domains: the public description of a table's columns."""

from discreto._old_names import moved

__getattr__ = moved(__name__, "discreto.core.domain.domain")
