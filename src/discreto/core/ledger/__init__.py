"""The durable ledger: what has been spent on a population, and who spent it.

``book`` holds the rules (charge first, never refund), ``chain`` the hashes that make
changes visible, ``entries`` the rows, ``store`` and ``fork`` the SQLite file under
them, ``anchor`` the second opinion that catches a restored backup.
"""

from discreto.core.ledger.analyst import AnalystLedger
from discreto.core.ledger.ledger import Ledger

__all__ = ["AnalystLedger", "Ledger"]
