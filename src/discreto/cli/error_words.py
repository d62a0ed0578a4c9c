"""Advice in the words of the shell: what errors say in Python, as it is typed here.

>>> shell_words("Ask with epsilon <= 0.5.")
'Ask with --epsilon 0.5 or less.'
"""

from __future__ import annotations

import re

# What a message of the package says, and what a person at a shell would do.
WORDS = (
    (r"[Aa]sk with epsilon <= ([\d.e-]*\d)", r"Ask with --epsilon \1 or less"),
    (
        r"needs a target: fit\(table, 'COLUMN'\).*domain file\)",
        'needs --target COLUMN, or "target" in the domain file',
    ),
    (
        r"[Tt]he domain needs target='COLUMN' for this model",
        'say --target COLUMN, or set "target" in the domain file',
    ),
    (
        r"ledger\.allow\('?([^',)]*)'?, [^)]*\)",
        r"`discreto ledger allow LEDGER \1 --epsilon ...`",
    ),
    (r"Ledger\(path, epsilon=3\)", "--budget 3"),
    (
        r"so the table needs a name: Table\([^)]*\)",
        "and only a table in files has a name",
    ),
    (r"domain\.select\(\[[^\]]*\]\)", "--columns NAME,NAME"),
    (r"Silo\(\.\.\., rows=(?:\.\.\.|\d+)\)", "rows = ... in the silo's TOML file"),
    (r"person='COLUMN'", '"person": "COLUMN" in the domain file'),
    (r"neighbours='replace'", '"neighbours": "replace"'),
    (r"\bcount_epsilon=", "--count-epsilon "),
    (r"ledger\.reopen\(\)", "`discreto ledger reopen LEDGER`"),
    (r"Ask again after table\.reload\(\)", "Run the command again"),
    (r"open the table anew, with table\.reload\(\)", "run the command again"),
    (
        r"separator='(.)' with decimal='(.)'",
        r"--dialect 'separator=\1' --dialect 'decimal=\2'",
    ),
    (r"\bquoted=True", "--dialect quoted=true"),
    (r"\bn_clusters=", "--set n_clusters="),
    (r"\bdelta=(?=[\d.])", "--delta "),
    (r"\bepsilon=(?=[\d.])", "--epsilon "),
)


def shell_words(message: str) -> str:
    """Return a message with the options of the command line instead of Python's."""
    for python, shell in WORDS:
        message = re.sub(python, shell, message)
    return message
