"""Seeds: the pages that the user names, and what they are given.

Laws: there may be millions of seeds, so they are taken block by block. The endowment is shared
once, when all are known. Each seed that is added to a crawl later gets no less than the first ones
did, even if links led to it before. A page is endowed once.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.web.urls import ResolvedUrl

_AT_ONCE = 50_000
FIRST_SEEDS = "first_seeds"  # how many shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    tell: Listener = nobody_listens,
) -> int:
    """Make the seeds known and endow them. Returns how many of them were no seeds before."""
    before = recorder.seeds.ids()
    named = await _introduce(recorder, iter(seeds), tell)
    new = sorted(named - before)
    if new:
        units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.committer.commit()
    for page in before | named:
        recorder.frontier.urls.depth[page] = 0
    return len(new)


def share_of_endowment(recorder: Recorder, endowment: int, new: int, *, is_first: bool) -> int:
    """The units for so many new seeds together."""
    if is_first:
        recorder.counters.add(FIRST_SEEDS, new)
    first = max(int(recorder.counters.number(FIRST_SEEDS)), 1)  # a damaged store may have none
    return -(-endowment * new // first)


async def _introduce(recorder: Recorder, seeds: Iterator[ResolvedUrl], tell: Listener) -> set[int]:
    pages: set[int] = set()
    while block := dict(islice(seeds, _AT_ONCE)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        pages.update(meeting.pages)
        if meeting.urls:
            recorder.apply_step(Step(StepKind.BORN, born=len(meeting.urls)))
        await recorder.committer.commit()
        if len(block) == _AT_ONCE:
            tell(Noted(text=f"{len(pages):,} seeds so far"))
    return pages
