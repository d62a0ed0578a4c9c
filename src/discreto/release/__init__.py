"""Releases: answers with their cost and error, as text, JSON, frames and files."""

from discreto._old_names import moved

__getattr__ = moved(__name__, "discreto.release.release")
