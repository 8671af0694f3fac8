"""Cash of a whole crawl: none is lost, and terms say who gets it."""

from pathlib import Path

import pytest

from minicrawl.model import Refused
from minicrawl.opic.ledger.books import StepKind, terms
from minicrawl.opic.ledger.money import PARTS, UNIT
from minicrawl.report.integrity.audit import audit
from minicrawl.states import State
from minicrawl.store import step_log
from minicrawl.store.reader import reading
from tests.crawl.fakes import FakeWeb, canonical, crawl, frontier_of, html, moved, text, web_of
from tests.crawl.loop.webs import A, B, C, star, tangle


def test_no_cash_is_lost_however_pages_end(path: Path) -> None:
    """`crawl` checks the books; this web has a page for each of ten ways to end."""
    ends = ["/cat.jpg", f"{B}/", "/secret", "/gone", "/old", "/loop", "/copy", "/twin", "/image"]
    web = FakeWeb(
        web_of({f"{A}/": [*ends, "/out"], f"{A}/new": ["/"]})
        | {
            f"{A}/robots.txt": text("User-agent: *\nDisallow: /secret"),
            f"{A}/old": moved("/new"),
            f"{A}/out": moved(f"{C}/"),
            f"{A}/loop": moved("/loop"),
            f"{A}/copy": html(title="copy", head=canonical("/new")),
            f"{A}/twin": html(*ends, "/out", title=f"{A}/"),
            f"{A}/image": Refused(reason=State.TYPE, detail="image/png", status=200),
        }
    )
    run = crawl(web, path, f"{A}/", scope="host")
    names = {url.removeprefix(A): state.name for url, state in run.states.items()}
    assert names == {
        "/": "FETCHED",
        "/cat.jpg": "TYPE",
        f"{B}/": "SCOPE",
        "/secret": "ROBOTS",
        "/gone": "NOT_FOUND",
        "/old": "MOVED",
        "/out": "MOVED",
        f"{C}/": "SCOPE",
        "/loop": "BAD_REDIRECT",
        "/copy": "CANONICAL",
        "/twin": "ALIAS",
        "/image": "TYPE",
        "/new": "FETCHED",
    }
    assert all(visit.url.startswith(A) for visit in web.visits)
    assert f"{A}/secret" not in web.asked


@pytest.mark.parametrize(("discovery", "share"), [(1, -1), (0, -1), (0.25, 1 << 14)])
def test_the_virtual_page_shares_its_gifts_as_the_fetches_are_shared(
    path: Path, discovery: float, share: int
) -> None:
    crawl(star(A, 3), path, f"{A}/", refresh=0.5)
    crawl(star(A, 3), path, refresh=1 - discovery)
    assert frontier_of(path).ledger.totals.discovery == share


def test_links_do_not_get_the_small_edge_and_the_store_keeps_its_size(path: Path) -> None:
    crawl({f"{A}/": html("/1", "/2")}, path, f"{A}/", pages=1, small_edge=0.5, endowment=7)
    frontier = frontier_of(path)
    assert frontier.terms.small_edge == 0.5
    assert [key / UNIT for key in frontier.ledger.key[1:]] == [1 + 8 * 0.5 / 2] * 2


def test_a_resumed_crawl_may_have_another_small_edge(path: Path) -> None:
    """The log records from which step on the new edge counts, so that an audit can follow."""
    web = web_of({f"{A}/": ["/1", "/2"], f"{A}/1": ["/3", "/4"], f"{A}/2": ["/5"]})
    for pages, edge in ((1, 0.5), (2, 0.25), (3, 0.25), (4, 0.5)):
        crawl(web, path, *[f"{A}/"] * (pages == 1), pages=pages, small_edge=edge, endowment=0)
        frontier = frontier_of(path)
        assert frontier.small_edge == edge
        assert frontier.ledger.small_edge(100, 7) == 100 * (1 - edge)
    assert frontier.terms.small_edge == 0.5
    with reading(path) as connection:
        steps = [row.step for row in step_log.steps_after(connection, 0)]
    changes = [step.amount for step in steps if step.kind is StepKind.TERMS]
    assert changes == [terms(-1, 0, PARTS // 4).amount, terms(-1, 0, PARTS // 2).amount]
    assert audit(path).is_intact


@pytest.mark.parametrize("replay", [0, 1, 3])
def test_no_more_pages_are_replayed_than_each_fetch_allows(replay: int, path: Path) -> None:
    links = tangle(30, hosts=3, links=6)
    crawl(web_of(links), path, next(iter(links)), replay=replay, delay=1)
    with reading(path) as connection:
        steps = list(step_log.steps_after(connection, 0))
    replayed = fetched = 0
    for row in steps:
        if row.step.kind is StepKind.REPLAY:
            replayed += len(row.step.spending.links)
        elif row.step.kind is StepKind.VISIT:
            fetched += 1
        assert replayed <= replay * fetched
    assert (replayed > 0) == (replay > 0)
