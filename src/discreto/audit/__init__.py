"""Audits: attempts to break the privacy of what this package, or a stranger, releases.

``transcript`` replays the noisy answers of one table on its neighbour: exact, two runs
a pair. ``epsilon`` treats a mechanism as a black box and bounds its epsilon from below
by statistics. ``listen`` and ``noise_law`` record real runs, with the system's noise.
``refusals`` and ``silo`` send hostile messages; ``conversation`` plays the adaptive
analyst against a ledger. ``canary`` measures what an attacker gains on a real table.
All of them read rows in the clear: never run them on a ledger that is meant to protect
somebody.
"""

from discreto._old_names import renamed
from discreto.audit.adapters import work_of
from discreto.audit.adaptive import accepts, conversation, worst_delta
from discreto.audit.audit import examine
from discreto.audit.blackbox import epsilon
from discreto.audit.canaries import Exposure, allowed_advantage, canary, membership
from discreto.audit.findings import Finding
from discreto.audit.ledgers import ledger
from discreto.audit.mechanisms import Replicates, mechanism_of
from discreto.audit.neighbours import Pair, exhaustive, hostile_rows, pairs
from discreto.audit.noise_distribution import noise_law
from discreto.audit.public_path import Listener, listen
from discreto.audit.recorder import Recorder
from discreto.audit.refusals import refusals
from discreto.audit.silos import silo
from discreto.audit.transcripts import PairComparison, compare, transcript

__all__ = [
    "Exposure",
    "Finding",
    "Listener",
    "Pair",
    "PairComparison",
    "Recorder",
    "Replicates",
    "accepts",
    "allowed_advantage",
    "canary",
    "compare",
    "conversation",
    "epsilon",
    "examine",
    "exhaustive",
    "hostile_rows",
    "ledger",
    "listen",
    "mechanism_of",
    "membership",
    "noise_law",
    "pairs",
    "refusals",
    "silo",
    "transcript",
    "work_of",
    "worst_delta",
]

__getattr__ = renamed(__name__, {"Comparison": "PairComparison", "Witness": "Recorder"})
