"""Texts for people: languages, messages, HTML, and what an epsilon means."""
