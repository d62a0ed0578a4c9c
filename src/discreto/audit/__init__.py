"""Audits: attempts to break the privacy of what this package, or a stranger, releases.

``transcript`` replays the noisy answers of one table on its neighbour: exact, two runs
a pair. ``epsilon`` treats a mechanism as a black box and bounds its epsilon from below
by statistics. ``canary`` measures what an attacker gains on a real table. All of them
read rows in the clear, so all of them are simulations: never run them on a ledger that
is meant to protect somebody.
"""

from discreto.audit.blackbox import epsilon
from discreto.audit.canaries import Exposure, allowed_advantage, canary, membership
from discreto.audit.examination import examine
from discreto.audit.findings import Finding
from discreto.audit.ledgers import ledger
from discreto.audit.mechanisms import Replicates, mechanism_of
from discreto.audit.neighbours import Pair, exhaustive, hostile_rows, pairs
from discreto.audit.subjects import work_of
from discreto.audit.transcripts import Comparison, compare, transcript
from discreto.audit.witness import Witness

__all__ = [
    "Comparison",
    "Exposure",
    "Finding",
    "Pair",
    "Replicates",
    "Witness",
    "allowed_advantage",
    "canary",
    "compare",
    "epsilon",
    "examine",
    "exhaustive",
    "hostile_rows",
    "ledger",
    "mechanism_of",
    "membership",
    "pairs",
    "transcript",
    "work_of",
]
