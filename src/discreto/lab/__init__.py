"""The laboratory: published algorithms as printed, their figures, and planted bugs.

Nothing in the library imports it. ``published`` has the algorithms of five texts as
they are printed, for simulations only; ``study`` draws their figures again;
``known_bugs`` are mistakes that audits must find; ``boosting_presets`` are settings of
papers.
"""
