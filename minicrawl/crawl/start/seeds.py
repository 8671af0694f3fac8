"""Seeds: the pages that the user vouches for. They become known and share the endowment.

Laws: seeds may come by the million, so they are taken block by block; the endowment is shared once,
when all are known. Seeds added to a crawl later, be they known by links already, get no less each
than the first ones, and a page is endowed once.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from minicrawl.config import Scope
from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.web.urls import ResolvedUrl

_AT_ONCE = 50_000
_FIRST = "first_seeds"  # how many shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    tell: Listener = nobody_listens,
) -> int:
    """Make pages known as seeds; answers with how many of them are new as such."""
    before = recorder.planted()
    named = await _introduce(recorder, iter(seeds), tell)
    new = sorted(named - before)
    if new:
        if not before:
            recorder.count(_FIRST, len(new))
        units = -(-endowment * len(new) // int(recorder.counted(_FIRST)))
        recorder.settle(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.commit()
    for page in before | named:
        recorder.frontier.depth[page] = 0
    return len(new)


def gate_for(recorder: Recorder, scope: Scope) -> ScopeGate:
    """The scope as the seeds have it, and the places where their redirects have led so far."""
    gate = ScopeGate(scope, recorder.seeds())
    for url in recorder.led_to_by_seeds():
        gate.widen(url)
    return gate


async def _introduce(recorder: Recorder, seeds: Iterator[ResolvedUrl], tell: Listener) -> set[int]:
    pages: set[int] = set()
    while block := dict(islice(seeds, _AT_ONCE)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        pages.update(meeting.pages)
        if meeting.urls:
            recorder.settle(Step(StepKind.BORN, born=len(meeting.urls)))
        await recorder.commit()
        if len(block) == _AT_ONCE:
            tell(Noted(text=f"{len(pages):,} seeds so far"))
    return pages
