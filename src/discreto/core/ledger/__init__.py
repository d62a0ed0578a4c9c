"""The durable ledger: the charges against a population's budget, and their chain.

``ledger`` holds the rules (charge first, never refund). ``transaction`` makes charges,
``group_commit`` shares transactions between threads, ``accounts`` adds charges up,
``chain`` makes changes visible by hashes, ``entries`` reads and writes the rows. Under
them is a ``database``: a SQLite file (``sqlite``) or a schema in PostgreSQL
(``postgres``).
"""

from discreto.core.ledger.accounts import AnalystLedger
from discreto.core.ledger.ledger import Ledger

__all__ = ["AnalystLedger", "Ledger"]
