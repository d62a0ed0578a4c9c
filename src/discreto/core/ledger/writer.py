"""How a ledger writes: jobs of several threads in one transaction, durable or refused.

A commit can be cut: the connection breaks or the disk fails while it is under way, and
the answer is lost. Then the ledger looks, under the writers' lock, for what it wrote.
If it cannot look either, the caller learns that the charge may stand.
"""

from __future__ import annotations

from typing import Any

from discreto.core.charge import Receipt
from discreto.core.ledger import attempts
from discreto.core.ledger import faults as failures
from discreto.core.ledger.checks import check_answer
from discreto.core.ledger.database import CutShort, Database
from discreto.core.ledger.groups import Group, LedgerJob
from discreto.core.ledger.page import LedgerPage, Needs
from discreto.core.ledger.reader import LedgerReader
from discreto.errors import DiscretoError, LedgerError


class LedgerWriter(LedgerReader):
    """The half of a ledger that writes: answers, the ledger's own entries, commits."""

    id: str
    _group: Group
    _unused: set[str]  # hashes of entries that were paid for and never used here

    def keep(self, receipt: Receipt, answer: str) -> str:
        """Store the answer of a charge; the first one stored is the answer for good.

        Parameters
        ----------
        receipt
            The receipt of a charge that had a key.
        answer
            What to store.

        Returns
        -------
        str
            The answer that was stored first.
        """
        text = check_answer(answer)
        job = LedgerJob(
            lambda page: page.keep(receipt, text),
            Needs(entries=(receipt.seq,)),
            failed=f"The charge of entry {receipt.seq} stands; without a stored answer "
            "asking again is charged again.",
        )
        return self._group.run(job, self._commit)

    def unread(self, receipt: Receipt) -> None:
        """Note that no row was read for a charge, so the next attempt costs nothing.

        Parameters
        ----------
        receipt
            The receipt of a charge that had a key and whose work was not begun.
        """

        def entry(db: Database, path: str) -> tuple[dict[str, Any] | None, str | None]:
            return attempts.unread_entry(db, receipt, path)

        self._own(entry, self.path)

    # A failure of the machine shuts the gate

    def fault(self, label: str) -> None:
        """Shut this ledger: an answer could not be computed after it was paid for.

        Nothing more is charged until the owner has looked into it and reopened it.

        Parameters
        ----------
        label
            What could not be computed.
        """
        self._own(failures.fault_entry, label)

    def reopen(self, comment: str = "") -> None:
        """Reopen a ledger that a failure shut. Appends an entry with the comment.

        Parameters
        ----------
        comment
            What the owner found; it is kept with the entry.
        """
        self._own(failures.reopening, comment)

    def _own(self, entry: failures.OwnEntry, text: str) -> None:
        self._group.run(LedgerJob(lambda page: page.own(entry, text)), self._commit)

    # Commits

    def _commit(self, jobs: list[LedgerJob[Any]]) -> None:
        """Do jobs in one transaction; when this returns, they are durable."""
        pages: list[LedgerPage] = []
        try:
            try:
                self._write(jobs, pages)
            except CutShort as unknown:
                self._look_for(pages[0], unknown)
            if pages[0].last[0]:
                self._store.remember(*pages[0].last)
            # A repeated charge too: its first maker may have died before this line.
            found = [job.result for job in jobs if isinstance(job.result, Receipt)]
            known = {one.seq: one.hash for one in found if one.answer is None}
            links = sorted((known | pages[0].links).items())
            if self._anchor and links:
                self._anchor.write(self.id, links)
            self._unused -= pages[0].used
        except BaseException:
            # No job gets its receipt, so nothing is read for what was committed.
            for page in pages:
                self._unused |= set(page.links.values())
            raise

    def _write(self, jobs: list[LedgerJob[Any]], pages: list[LedgerPage]) -> None:
        needs = [job.needs for job in jobs]
        with self._store.writing() as db:
            page = LedgerPage(
                db, self._chain, self._meta, self.path, needs, self._unused
            )
            pages.append(page)
            for job in jobs:
                try:
                    job.result = job.do(page)
                except DiscretoError as error:  # the page is as it was before
                    job.error = error
            page.write()

    def _look_for(self, page: LedgerPage, unknown: CutShort) -> None:
        """Return if what a page wrote is there, after its commit was cut."""
        if page.trace is None:
            return
        table, seq, link = page.trace
        try:
            with self._store.writing() as db:
                query = f"SELECT hash FROM {table} WHERE seq = ?"  # noqa: S608
                found = db.execute(query, (seq,)).fetchone()
        except LedgerError:
            raise unknown from None
        if found is None or found[0] != link:
            raise LedgerError(
                f"the ledger {self.path!r} was cut off before its commit: nothing was "
                "charged and nothing was released; try again."
            )
