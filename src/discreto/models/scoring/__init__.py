"""Paid scores of models, and the choice among models by a score."""
