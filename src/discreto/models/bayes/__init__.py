"""Naive Bayes models."""
