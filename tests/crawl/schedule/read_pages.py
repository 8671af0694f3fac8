"""Pages that were read before, and a scheduler that lets them be read again."""

from array import array
from collections.abc import Iterable

import numpy as np

from minicrawl.crawl.schedule.refresh import RefreshScheduler
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store.records import DocumentRow

DAY_S = 86_400.0
TODAY = 1000 * DAY_S


def document(page: int, *, first: float = 0, last: float = 0, changes: int = 0) -> DocumentRow:
    """Return a document of a page first read `first` days ago, and last read `last` days ago."""
    first_at, last_at = TODAY - first * DAY_S, TODAY - last * DAY_S
    return DocumentRow(page, "", 200, None, None, 0, False, first_at, last_at, 0, changes)


def yesterday(pages: int) -> list[DocumentRow]:
    """Return the documents of pages that were read yesterday, for the first time."""
    return [document(page, first=1, last=1) for page in range(pages)]


class Pages:
    """A scheduler of pages that were read, their cash, and hosts that are busy."""

    def __init__(
        self,
        documents: Iterable[DocumentRow],
        *,
        endless: bool = False,
        hosts: int = 1000,
        strategy: str = "greedy",
        today: float = TODAY,
    ) -> None:
        self.cash = np.ones(1000)
        self.today = today
        self.refresh = RefreshScheduler(
            array("I", [page % hosts for page in range(1000)]),
            worth_of(strategy),
            lambda pages: self.cash[pages],
            lambda: self.today,
            endless=endless,
        )
        for one in documents:
            self.refresh.saw(one)
        self.busy: set[int] = set()

    def take(self) -> int | None:
        host = self.refresh.next_host(lambda host: host not in self.busy)
        return None if host is None else self.refresh.take_of(host)

    def take_all(self) -> list[int]:
        taken = []
        while (page := self.take()) is not None:
            taken.append(page)
            self.refresh.release(page)
        return taken

    def pay(self, page: int, cash: float) -> None:
        self.cash[page] = cash
        self.refresh.posted([Plan(999, 0, [page], 0, (), 0)])
        self.today += 1  # so that the scheduler looks at its plans

    def free(self, *hosts: int) -> None:
        for host in hosts:
            self.busy.discard(host)
            self.refresh.look_again(host)

    def hear(self, *pages: int, days: float) -> None:
        """Read a sitemap that says that these pages changed `days` days ago."""
        names = {str(page): page for page in pages}
        self.refresh.hear(names, tuple((name, TODAY - days * DAY_S) for name in names))

    def read_all(self, *changed: int) -> list[int]:
        """Read all pages of host 0 that are due, of which these have changed, and return them."""
        read = []
        while (page := self.take()) is not None:
            self.refresh.look_again(0)
            again = document(page, first=1, changes=page in changed)
            self.refresh.saw(again, just_now=True)
            read.append(page)
        return read
