"""Cuts: refusals that the user may not want, and how to read these pages.

A cut is a judgement of minicrawl, or a limit that knows nothing of the page. In a large store there
is one cut for each kind.
"""

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from minicrawl.report.progress.crawl_status import Status
from minicrawl.report.progress.samples import MOST_AT_ONCE
from minicrawl.report.snapshot import snapshot
from minicrawl.states import CUT, State
from minicrawl.store import request_log
from minicrawl.store.records import NOT_ASKED
from minicrawl.wording import counted

_NO_OPTION = "pages given as seeds are read"


class Cut(NamedTuple):
    """Pages that one limit left unread; without a host, in all."""

    pages: int
    host: str | None
    kind: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        place = f" of {self.host}" if self.host else ""
        return f"{counted(self.pages, 'page')}{place}: {self.reason}; {self.remedy}"


def cuts(store: Path, status: Status, *, even_of_many: bool = False) -> list[Cut]:
    """Return the cuts of a store with this status, the largest first."""
    refusals = status.refusals or {}
    pages = {state: number for state in CUT if (number := refusals.get(state.label))}
    if not pages or (status.pages_known > MOST_AT_ONCE and not even_of_many):
        cuts = [_cut(number, None, state, "") for state, number in pages.items()]
    else:
        with snapshot(store) as view:
            details = dict.fromkeys(np.flatnonzero(np.isin(view.states, CUT)).tolist(), "")
            unknown = set(details)
            for row in request_log.failed_requests(view.connection):
                if row.page in unknown and row.outcome == NOT_ASKED:
                    details[row.page] = row.detail  # of the last time
                    unknown.remove(row.page)
            groups = Counter(
                (int(view.host_of[page]), State(view.states[page]), detail)
                for page, detail in details.items()
            )
            cuts = [
                _cut(number, view.origins[host], state, detail)
                for (host, state, detail), number in groups.items()
            ]
    return sorted(cuts, key=lambda cut: (-cut.pages, cut.host or "", cut.reason))


def remedy(state: State, detail: str) -> str:
    """Return how to read pages that were cut with this detail."""
    option = state.row.limit
    # The limits of paths have no option.
    return _NO_OPTION if detail and option not in detail else f"lifted by {option} none"


def _cut(pages: int, host: str | None, state: State, detail: str) -> Cut:
    reason = detail.partition(": --")[0] or state.row.means
    return Cut(pages, host, state.label, reason, remedy(state, detail))
