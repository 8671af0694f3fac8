"""A settler with everything it needs, for tests."""

import zlib
from collections.abc import Callable, Sequence

from minicrawl import Settings
from minicrawl.config import Politeness, Scope
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import TrapDetector
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.depth import DepthTracker
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.crawl.settle.outcome import NO_CHAIN, Outcome, RedirectChain, Redirects, WasRead
from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.turns.turn import Turn
from minicrawl.frontier.url_index import NO_PAGES
from minicrawl.model import ParsedPage, Response
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.states import State
from minicrawl.store.records import DocumentRow
from minicrawl.web.urls import origin
from tests.crawl.jumping_clock import NOON

A, B = "http://a.example", "http://b.example"


class Desk:
    """A settler and its store. Pages are named by their paths on host A, or by URLs."""

    def __init__(self, recorder: Recorder, scope: Scope | None = None) -> None:
        self.recorder, self.frontier = recorder, recorder.frontier
        self.queue = ORDERS["greedy"](self.frontier)
        self.seen: list[Plan] = []
        limit = None if scope is None else scope.max_depth
        depths = None if limit is None else DepthTracker(self.frontier, limit)
        gate = ScopeGate(scope or Scope(), [f"{A}/"])
        self.poster = StepPoster(recorder, self.queue, self._refuse(gate), depths, self.seen.extend)
        self.traps = TrapDetector(Settings().traps, recorder, gate)
        self.settler = Settler(Settings(), recorder, self.poster, gate, self.traps)
        self.said = ""
        self.chains: dict[int, RedirectChain] = {}

    def _refuse(self, gate: ScopeGate) -> Callable[[Sequence[int]], None]:
        """Return what refuses new pages, by the gate alone."""

        def refuse(new: Sequence[int]) -> None:
            for page in new:
                depth, url = self.frontier.urls.depth[page], self.recorder.pages.url_of(page)
                if depth and (state := gate.refusal(url, depth, 0)) is not None:
                    self.recorder.apply_step(
                        Step(StepKind.REFUSE, spending=Spending([page])), state
                    )

        return refuse

    def page(self, name: str) -> int:
        url = name if name.startswith("http") else A + name
        page = self.frontier.urls.find(url)
        if page is None:
            (page,) = self.recorder.meet([url], 0).pages
            self.poster.post(Step(StepKind.BORN, born=1), new=[page])
        return page

    def settle(self, name: str, outcome: Outcome, today: float = NOON) -> State | None:
        page = self.page(name)
        chain = self.chains.pop(page, NO_CHAIN)
        url, host_id = self.recorder.pages.url_of(page), self.frontier.urls.host_of[page]
        host = Host(host_id, origin(url), NameState("name", Politeness()))
        turn = Turn(Lease(page, host_id, url, again=False), page, host, NO_PAGES, chain=chain)
        end = self.settler.settle(turn, outcome, today)
        assert self.frontier.ledger.missing() == 0
        if end is None:
            return None
        assert self.frontier.state[page] == end.state
        self.said = end.reason
        sets_cookies = isinstance(outcome, Redirects) and outcome.sets_cookies
        led_on = chain.led_on(page, has_jar=True, sets_cookies=sets_cookies)
        for one in end.led_to:
            self.chains[one] = self.chains[one].joined(led_on) if one in self.chains else led_on
        return end.state

    def read(
        self,
        name: str,
        *links: str,
        words: str = "",
        canonical: str = "",
        cut: State | None = None,
        content: int | None = None,
        is_thin: bool = False,
    ) -> State | None:
        """Settle a page as read. Its content is a checksum of `words`, if `content` is None."""
        answer = Response(status=200, headers={"etag": "e"}, body=b"", cut=cut)
        reading = ParsedPage(
            title=name,
            links=tuple(link if link.startswith("http") else A + link for link in links),
            canonical=A + canonical if canonical else None,
            content=zlib.crc32((words or name).encode()) if content is None else content,
            is_thin=is_thin,
        )
        return self.settle(name, WasRead(answer, reading))

    def document(self, name: str) -> DocumentRow:
        document = self.recorder.pages.document(self.page(name))
        assert document is not None
        return document

    def links(self, name: str) -> list[int]:
        return list(self.frontier.spendings.of(self.page(name)).links)

    def states(self) -> str:
        return " ".join(State(state).label for state in self.frontier.state)
