"""The level of cash that orders the pages of all shards together."""

from collections.abc import Sequence

from minicrawl.crawl.shard.ordering import FEWEST, HEADROOM, PageLevel
from minicrawl.frontier.pages import Frontier
from minicrawl.model import State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.money import UNIT
from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.water import NO_LEVEL
from minicrawl.store.records import StepRow, StoreTerms


def a_frontier(units: Sequence[int], hosts: int = 1) -> Frontier:
    """Pages that hold so many units, by turns on so many hosts."""
    frontier = Frontier(StoreTerms(), lambda _seq: Spending(()))
    steps = [Step(StepKind.BORN, born=len(units))]
    for page, held in enumerate(units):
        frontier.urls.meet([f"http://host{page % hosts}.example/{page}"], 0)
        steps.append(Step(StepKind.GRANT, spending=Spending([page]), amount=(held - 1) * UNIT))
    for seq, step in enumerate(steps, 1):
        frontier.apply(StepRow(seq, State.UNREAD, step))
    return frontier


def told(keys: dict[int, int], pace: int = 0) -> ShardFacts:
    return ShardFacts(0, pace=pace, sketch=keys)


def test_without_facts_every_page_may_be_read() -> None:
    level = PageLevel(a_frontier([1, 5]), a_host=10)
    level.hear([])
    assert level.key == NO_LEVEL
    assert level.admits(0)
    assert not level.holds_back


def test_a_page_waits_while_enough_richer_ones_wait_elsewhere() -> None:
    level = PageLevel(a_frontier([1, 64]), a_host=10)
    rich = PageLevel(a_frontier([32] * HEADROOM * FEWEST), a_host=1000).sketch()
    level.hear([told(rich)])
    assert level.key == 32 * UNIT
    assert level.admits(1)
    assert not level.admits(0)
    assert level.holds_back
    level.hear([told({})])
    assert level.admits(0)
    assert not level.holds_back


def test_quick_shards_have_more_pages_above_the_level() -> None:
    level = PageLevel(a_frontier([1]), a_host=10)
    rich = PageLevel(a_frontier([32] * HEADROOM * FEWEST), a_host=1000).sketch()
    level.hear([told(rich, pace=FEWEST + 1)])
    assert level.key == NO_LEVEL


def test_a_host_counts_with_the_pages_that_can_be_asked_for() -> None:
    """The others wait for its delay, and hold up nobody elsewhere."""
    assert sum(PageLevel(a_frontier([8] * 30), a_host=2).sketch().values()) == 2
    assert sum(PageLevel(a_frontier([8] * 30, hosts=5), a_host=2).sketch().values()) == 10
    richest = PageLevel(a_frontier([1, 2, 4, 8], hosts=2), a_host=1).sketch()
    assert richest == PageLevel(a_frontier([4, 8], hosts=2), a_host=1).sketch()


def test_of_many_pages_only_the_richest_are_told() -> None:
    pages = [64] * HEADROOM * FEWEST + [2] * 1000
    sketch = PageLevel(a_frontier(pages, hosts=len(pages)), a_host=1).sketch()
    assert sum(sketch.values()) <= len(pages)
    level = PageLevel(a_frontier([1]), a_host=1)
    level.hear([told(sketch)])
    assert level.key == 64 * UNIT


def test_a_shard_without_pages_tells_of_none() -> None:
    assert not PageLevel(a_frontier([]), a_host=1).sketch()
