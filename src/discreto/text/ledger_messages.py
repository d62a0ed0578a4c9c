"""Messages of ledgers, in one place. Their wording decides nothing.

Each says what is wrong, what was given, and what to do next.
"""

from __future__ import annotations

ANCHOR_KNOWS_MORE = (
    "the anchor knows an entry {seq} that is not in the ledger: a backup was "
    "restored or the history was rewritten."
)
ANCHOR_NOT_MADE = "the anchor {anchor!r} cannot be made ({error})."
ANCHOR_NOT_READ = "the anchor {anchor!r} cannot be read ({error})."
ANCHOR_NOT_WRITTEN = (
    "the anchor {anchor!r} cannot be written ({error}): nothing was released; "
    "the charge stands."
)
ASIDE_TOO_LARGE = (
    "pure and block_delta are parts of a ledger's epsilon and delta: they "
    "cannot be larger."
)
BAD_ADDRESS = (
    "the address of a ledger in PostgreSQL ends with its name, in small "
    "letters: postgresql://host/database#patients."
)
BROKEN_LINK = (
    "entry {place} does not follow from entry {before}: this ledger file was "
    "changed by hand, or the key is another one."
)
CHANGED_BUDGET = (
    "the budget in this ledger file was changed by hand, or the key is another one."
)
CHANGED_TOTALS = (
    "the budgets or totals do not follow from the entries: this ledger file was"
    " changed by hand."
)
CLOSED = "the ledger {path!r} is closed: nothing was released. Open it anew."
CUT_SHORT = (
    "the ledger {path!r} was cut off in mid-commit ({why}): it may have been "
    "charged, and nothing was released. Ask again under the same key; without a key, "
    "look at the ledger's entries first."
)
DAMAGED = "{path!r} is damaged or was changed: restore it."
DAMAGED_ACCOUNT = (
    "the budget or total of {name!r} is damaged or was changed by hand: restore"
    " the ledger."
)
FALSE_DIGEST = "the last entry carries totals that do not follow from the entries."
FALSE_TOTALS = (
    "entry {number} tells totals that do not follow from the entries before it."
)
FSYNC_OFF = (
    "the server of {path!r} runs with fsync off: it could forget a charge. Turn it on."
)
INEXACT_COST = "the cost of {label!r} must be made of exact numbers from 0 to {most}."
KEY_TRAVELS = (
    "a ledger with a key cannot be pickled: the key would travel along. Open "
    "the ledger in the other process."
)
LARGE_LOST = (
    "the answer stored for entry {seq} is large and has a place of its own, "
    "{place!r}, which {what}. Restore it from a backup. The charge stands, and "
    "nothing is computed again for it."
)
LARGE_NOT_WRITTEN = (
    "a large answer cannot be written to {place!r} ({error}): {hint}. The "
    "charge stands; without a stored answer asking again is charged again."
)
LEAK = (
    "{label!r} is not private: no noise covers it. Only a simulation ledger "
    "(discreto.testing.simulate) records such things."
)
LIVE_EDIT = (
    "the budgets or totals of {path!r} do not follow from its entries: they "
    "were changed by hand. Nothing was charged and nothing was released. "
    "Restore the ledger."
)
LOG_WITHOUT_FILE = (
    "{path!r} is gone, but its log {log!r} is still there: it was a ledger. "
    "Restore it, do not start anew."
)
LOST_ENTRY = (
    "{path!r} has lost an entry that was committed: a backup was restored or "
    "the history was rewritten. Nothing was released."
)
MEMORY_FORKED = (
    "a ledger in memory cannot be used after fork: parent and child would both "
    "spend the whole budget. Use a ledger file."
)
MEMORY_TRAVELS = (
    "a ledger in memory cannot be sent to another process: each would spend the"
    " whole budget. Use a ledger file."
)
MOVED = (
    "{path!r} was moved, replaced or copied while it was open: nothing was "
    "released. Open the ledger anew; copy it only when no process uses it."
)
NEEDS_PSYCOPG = "a ledger in PostgreSQL needs psycopg: {command}"
NETWORK = (
    "{path!r} is on a network file system ({kind}), where two machines could "
    "spend the same budget. Keep the ledger on a local disk."
)
NOT_COMMITTED = (
    "the ledger {path!r} was cut off before its commit: nothing was charged and"
    " nothing was released; try again."
)
NOT_JSON = "the event of {label!r} must be plain JSON."
NOT_WRITTEN = (
    "the ledger could not be written ({kind}): nothing was released. It may "
    "have been charged; ask again under the same key."
)
NO_ACCOUNT = (
    "there is no analyst {name!r} in {path!r}. The owner adds one with "
    "ledger.allow({name!r}, epsilon)."
)
NO_ANCHOR = (
    "the anchor {anchor!r} is missing although the ledger has entries. If you "
    "are adding an anchor, make an empty file there first."
)
NO_ANSWER_THERE = (
    "entry {seq} of {path!r} is not this receipt's, or has no key: its answer "
    "cannot be stored."
)
NO_FILE = "{path!r} is missing, empty or no file. If it was a ledger, restore it."
NO_LEDGER = (
    "there is no ledger {path!r}. Say how much it may spend to make one: "
    "Ledger(path, epsilon=3)."
)
OTHER_ANCHOR = "the anchor {anchor!r} belongs to another ledger."
OTHER_BUDGET = (
    "{path!r} has {name} {old}, not {value}. Leave {name} out to use what the "
    "file says."
)
OTHER_FORMAT = (
    "{path!r} was written by another version of discreto (format {version}; "
    "this one reads {known})."
)
OTHER_LEDGER = (
    "{path!r} is another ledger than the one that was opened, or its budget was"
    " changed by hand: nothing was charged and nothing was released. Open the "
    "ledger anew."
)
OTHER_LIMIT = (
    "analyst {name!r} of {path!r} has another budget. Change it with "
    "ledger.allow({name!r}, ...)."
)
OTHER_POPULATION = (
    "{path!r} is the ledger of population {found!r}, not of {wanted!r}. One "
    "file belongs to one population."
)
OTHER_PROCESS = "{path!r} was opened in another process. Open the ledger anew."
OTHER_QUESTION = "the key {key!r} belongs to another question. Use a new one."
OTHER_RECEIPT = "entry {seq} of {path!r} is not this receipt's."
ADDRESS_TRAVELS = (
    "a ledger with a password in its address cannot be pickled: it would travel"
    " along. Let PGPASSFILE name the file that has it."
)
POSTGRES_FAILED = (
    "the ledger {path!r} cannot be used ({what}): {hint}; nothing was released."
)
SECOND_NAME = (
    "{path!r} has a second name (a hard link), under which its budget could be "
    "spent again. Remove the other name."
)
SHUT = (
    "{path!r} is shut: an answer could not be computed after it was paid for. "
    "Its owner looks into it and goes on with ledger.reopen()."
)
SQLITE_FAILED = "the ledger {path!r} cannot be used ({error}): {hint}."
