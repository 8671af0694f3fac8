"""The end of a turn: its links are looked up, its outcome is settled, its request is recorded.

Laws: a turn ends with one step of its page, or it is suspended until the page is requested again.
Very many links, and listed sitemaps, become known block by block before. A request that we broke
off says nothing about the page, and uses up no try.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

from minicrawl.archive.packing import record_of, take_payload
from minicrawl.config import Settings
from minicrawl.config.values.kinds import OFF
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Delayed, Listener, Settled
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.settle.descriptions import describe_outcome
from minicrawl.crawl.settle.outcome import Retry, TurnEnd, decide_outcome
from minicrawl.crawl.settle.posting import ReplayScheduler, StepPoster, are_many
from minicrawl.crawl.settle.settler import Settler
from minicrawl.crawl.turns.listed_pages import ListedPages
from minicrawl.crawl.turns.turn import SuspendedTurns, Turn
from minicrawl.crawl.workers.loop_rounds import LoopRounds
from minicrawl.model import (
    Failed,
    FetchResult,
    KeptAnswer,
    ParsedPage,
    Refused,
    Response,
    Unchanged,
)
from minicrawl.ports import Clock
from minicrawl.states import State
from minicrawl.store.records import FetchRow
from minicrawl.web.responses.headers import max_age_s

_MOST_NEW_LINKS = 16
"""New links of one reading that count for reading the page again."""


@dataclass(slots=True, eq=False)
class TurnEnds:
    settings: Settings
    recorder: Recorder
    clock: Clock
    gate: ScopeGate
    poster: StepPoster
    settler: Settler
    leases: LeaseScheduler
    replays: ReplayScheduler
    listed: ListedPages
    emit: Listener
    suspended: SuspendedTurns = field(default_factory=SuspendedTurns)
    before_settling: LoopRounds = field(default_factory=LoopRounds)

    async def end(self, turn: Turn, fetched: FetchResult, parsed: ParsedPage | None) -> None:
        """Look up the links of the page and settle it; end its turn, or suspend it."""
        if parsed is not None:
            parsed = await self._with_known_links(turn, parsed)
        await self.before_settling.turn()
        began, today = perf_counter(), self.clock.today()
        page, settings = turn.page, self.settings
        if not (isinstance(fetched, Failed) and fetched.kind is State.INTERRUPTED):
            turn.tries += 1
        turn.chain = self.suspended.chain_to(page)
        outcome = decide_outcome(
            turn.lease.url,
            fetched,
            parsed,
            turn.tries,
            max_tries=settings.limits.max_tries,
            strip_marks=settings.storing.strip_marks,
        )
        new_links = self._new_links(turn, parsed) if turn.lease.again else 0
        end = self.settler.settle(turn, outcome, today)
        row = self._record(turn, fetched, parsed, end, today)
        if end is None:
            if isinstance(outcome, Retry) and outcome.request_url is not None:
                turn.request_url = outcome.request_url
            self.suspended.suspend(turn)
            self.leases.give_back(turn.lease)
            why = f"{row.outcome} {row.detail}".rstrip()
            self.emit(Delayed(url=turn.lease.url, detail=why, crawler=turn.crawler))
        else:
            if self.leases.reads_again:
                fresh_s = fetched.fresh_s if isinstance(fetched, Unchanged) else None
                if isinstance(fetched, Response):
                    fresh_s = max_age_s(fetched.headers)
                self.leases.end(turn.lease, fresh_s or 0.0, new_links)
                if parsed is not None and parsed.changed:
                    self.leases.refresh.hear(turn.looked_up, parsed.changed)
            self._end(turn, end, row, sets_cookies=bool(fetched.cookies))
        turn.cost_s += perf_counter() - began

    async def _with_known_links(self, turn: Turn, parsed: ParsedPage) -> ParsedPage:
        """Look up the links of the page. Return the page without links that it may not list."""
        if parsed.is_sitemap:
            parsed = self.listed.admit(turn.lease.url, parsed)
        links, depth = parsed.links, self.recorder.frontier.urls.depth[turn.page]
        if parsed.sitemaps:
            await self._introduce(turn, parsed.sitemaps, depth, parsed)
        if not are_many(links) or parsed.refresh is not None:
            turn.looked_up = await self.recorder.look_up_urls(links)
        else:
            # A link with its own request becomes known with the step, which stores that.
            own = dict(parsed.own_requests)
            await self._introduce(turn, [u for u in links if u not in own], depth + 1, parsed)
            turn.looked_up = {**turn.looked_up, **await self.recorder.look_up_urls(own)}
        return parsed

    async def _introduce(
        self, turn: Turn, links: Sequence[str], depth: int, parsed: ParsedPage
    ) -> None:
        pages, new, cost_s = await self.poster.introduce(links, depth, parsed.originals, turn.page)
        turn.looked_up, turn.introduced = pages, [*turn.introduced, *new]
        turn.cost_s += cost_s

    def _new_links(self, turn: Turn, parsed: ParsedPage | None) -> int:
        """Return the number of links to pages that are not known yet, and are within the scope."""
        links = () if parsed is None else parsed.links
        refusal = self.gate.refusal
        depth = self.recorder.frontier.urls.depth[turn.page] + 1
        unknown = (link for link in links if link not in turn.looked_up)
        within = sum(refusal(link, depth, 0) is None for link in unknown)
        # Limited, as an endless site offers new links at each reading.
        return min(within + len(turn.introduced), _MOST_NEW_LINKS)

    def _end(self, turn: Turn, end: TurnEnd, row: FetchRow, *, sets_cookies: bool) -> None:
        suspended, page = self.suspended, turn.page
        suspended.end(page)
        if sets_cookies:
            suspended.cookies_came()
        # A target that was refused as soon as it was met has no turn that would end its chain.
        state = self.recorder.frontier.state
        if led_to := [target for target in end.led_to if state[target] == State.UNREAD]:
            has_jar = self.settings.access.cookies != OFF
            chain = turn.chain.led_on(page, has_jar=has_jar, sets_cookies=sets_cookies)
            for target in led_to:
                suspended.redirected(target, chain)
        self.replays.allowed += self.replays.per_fetch
        self.emit(
            Settled(
                url=turn.lease.url,
                state=end.state,
                detail=row.detail,
                elapsed_s=row.elapsed_s,
                crawler=turn.crawler,
                status=row.status,
            )
        )

    def _record(
        self,
        turn: Turn,
        fetched: FetchResult,
        parsed: ParsedPage | None,
        end: TurnEnd | None,
        today: float,
    ) -> FetchRow:
        recorder, page, url = self.recorder, turn.page, turn.lease.url
        name, status, detail = describe_outcome(fetched, self.settings.network, parsed, end)
        wire_bytes = fetched.wire_bytes if isinstance(fetched, Response | Refused) else 0
        times = fetched.elapsed_s, detail, fetched.first_byte_s
        row = FetchRow(page, today, name, status, wire_bytes, *times)
        recorder.record_request(row, is_page=isinstance(fetched, Response | Unchanged))
        if recorder.keeping:
            record = record_of(url, fetched)
            if record is not None:
                long = fetched.payload if isinstance(fetched, Refused) else ""
                payload = take_payload(long) if long else None
                recorder.keep(page, KeptAnswer(record, today, url, payload=payload))
            if isinstance(fetched, Response) and fetched.rendered:
                recorder.keep(page, KeptAnswer(fetched.rendered, today, url))
        return row
