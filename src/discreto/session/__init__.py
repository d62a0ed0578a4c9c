"""Sessions: the questions of one request, their plan, their cost and their order."""

from discreto._old_names import moved

__getattr__ = moved(__name__, "discreto.session.session")
