"""The durable ledger: what has been spent on a population, and who spent it.

``book`` holds the rules (charge first, never refund, one chain), ``store`` the SQLite
file, ``anchor`` the second opinion that catches a restored backup.
"""

from discreto.ledger.book import AnalystLedger, Ledger

__all__ = ["AnalystLedger", "Ledger"]
