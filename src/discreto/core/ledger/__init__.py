"""The durable ledger: what has been spent on a population, and who spent it.

``ledger`` holds the rules (charge first, never refund), ``chain`` the hashes that make
changes visible, ``entries`` the rows, ``anchor`` the second opinion that catches a
restored backup. Under them is a ``database``: a SQLite file (``store``) or a schema in
PostgreSQL (``postgres``); ``fork`` keeps connections from being inherited.
"""

from discreto.core.ledger.analyst import AnalystLedger
from discreto.core.ledger.ledger import Ledger

__all__ = ["AnalystLedger", "Ledger"]
