"""Linear and logistic regression."""

from discreto._old_names import moved

__getattr__ = moved(__name__, "discreto.models.linear.linear")
