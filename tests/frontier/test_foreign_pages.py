"""Pages of other shards: they are loaded as they were saved, and reports leave them out."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from minicrawl import State, Store
from minicrawl.cli import main
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import ChannelEnd, Channels, ShardPlace
from minicrawl.opic.ledger.ledger import FOREIGN
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.report.integrity.audit import audit
from minicrawl.store.records import StoreTerms
from minicrawl.web.sites import site
from minicrawl.web.urls import host
from tests.frontier.same import assert_same
from tests.stores import HandCrawl

PLACE = ShardPlace(1, 2)
TERMS = StoreTerms(shard=PLACE.number, shards=PLACE.of)
URLS = [f"http://{letter}.example/{page}" for letter in "abcdefgh" for page in range(3)]


def is_own(url: str) -> bool:
    return PLACE.owner(site(host(url))) == PLACE.number


OWN, STRANGE = [list(filter(is_own, URLS)), [url for url in URLS if not is_own(url)]]


def read(crawl: HandCrawl, url: str, links: list[str]) -> None:
    """Read a page as a shard does, which adds foreign pages before the visit."""
    strange = [link for link in links if not is_own(link)]
    known = len(crawl.frontier)
    _, born = crawl.meet_urls(strange, 1)
    if born:
        crawl.take_step(Step(StepKind.BORN, born=born))
        crawl.take_step(Step(StepKind.FOREIGN, spending=Spending(range(known, known + born))))
    crawl.read(url, [link for link in links if link != url])


def send(crawl: HandCrawl, of_pot: int = 0) -> None:
    """Send all foreign pages with their cash."""
    ledger, channels = crawl.frontier.ledger, crawl.frontier.channels or Channels()
    pages = [page for page, flag in enumerate(ledger.flags) if flag == FOREIGN]
    of_pot = min(of_pot, max(0, ledger.virtual_page.pot))
    number = channels.next_number(0)
    atoms = [ledger.key[page] for page in pages]
    if pages or of_pot:
        crawl.take_step(Step(StepKind.SEND, 0, 0, Spending(pages, atoms, (), of_pot), number))


def receive(crawl: HandCrawl, urls: list[str], to_pot: int = 0) -> None:
    channels = crawl.frontier.channels or Channels()
    number = channels.received.get(0, ChannelEnd()).number + 1
    pages, born = crawl.meet_urls(urls, 2)
    spending = Spending(sorted(pages), [UNIT // 3] * len(pages), (), to_pot)
    if pages or to_pot:
        crawl.take_step(Step(StepKind.RECEIVE, 0, born, spending, number))


def a_shard(path: Path) -> HandCrawl:
    crawl = HandCrawl(path, TERMS)
    crawl.seeds(OWN[:2], endowment=5)
    return crawl


HAPPENINGS: dict[str, Callable[[HandCrawl, list[str]], object]] = {
    "read": lambda crawl, urls: read(crawl, OWN[0], urls),
    "read another": lambda crawl, urls: read(crawl, OWN[1], urls),
    "moved": lambda crawl, _urls: crawl.moved(OWN[1], OWN[0]),
    "sent": lambda crawl, _urls: send(crawl),
    "pot sent": lambda crawl, _urls: send(crawl, of_pot=UNIT // 7),
    "came": lambda crawl, urls: receive(crawl, list(filter(is_own, urls))),
    "pot came": lambda crawl, _urls: receive(crawl, [], to_pot=9),
    "committed": lambda crawl, _urls: crawl.commit(),
    "saved": lambda crawl, _urls: crawl.checkpoint(),
}
EVENTS = st.tuples(
    st.sampled_from(sorted(HAPPENINGS)),
    st.lists(st.sampled_from(URLS), min_size=1, max_size=6, unique=True),
)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(EVENTS, max_size=15))
def test_any_history_of_a_shard_is_loaded_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, events: list[tuple[str, list[str]]]
) -> None:
    path = tmp_path_factory.mktemp("shard") / "crawl.db"
    with closing(a_shard(path)) as crawl:
        for event, urls in events:
            HAPPENINGS[event](crawl, urls)
            assert crawl.frontier.ledger.missing() == 0
        crawl.commit()
        assert_same(crawl.loaded(), crawl.frontier, URLS)
        crawl.checkpoint()
        assert_same(crawl.loaded(), crawl.frontier, URLS)
    assert audit(path).wrong == []


@pytest.mark.parametrize("window", WINDOWS)
def test_pages_of_other_shards_have_no_importance(path: Path, window: str) -> None:
    terms = StoreTerms(window=window, shard=PLACE.number, shards=PLACE.of)
    with closing(HandCrawl(path, terms)) as crawl:
        crawl.seeds(OWN[:2], endowment=5)
        read(crawl, OWN[0], [OWN[1], STRANGE[0]])
        importance = crawl.frontier.importance()
        assert importance[crawl.page(STRANGE[0])] == 0
        assert importance.sum() == pytest.approx(1)


def test_cash_that_came_for_a_page_that_moved_is_saved_with_its_target(path: Path) -> None:
    with closing(a_shard(path)) as crawl:
        crawl.moved(OWN[1], OWN[0])
        crawl.checkpoint()
        receive(crawl, [OWN[1]])
        crawl.checkpoint()
        assert_same(crawl.loaded(), crawl.frontier, OWN[:2])


@pytest.fixture
def store(path: Path) -> Path:
    """Make a store of a shard that read a page, sent cash, read another and received a page."""
    with closing(a_shard(path)) as crawl:
        read(crawl, OWN[0], [OWN[1], OWN[2], STRANGE[0], STRANGE[1]])
        send(crawl)
        read(crawl, OWN[1], [STRANGE[1], STRANGE[2]])
        receive(crawl, [OWN[3]])
        crawl.checkpoint()
        return crawl.path


def test_the_audit_finds_pages_with_the_wrong_shard(store: Path) -> None:
    found = audit(store)
    assert found.wrong == []
    assert "shard" in found.checked
    for old, new, page in ((6, 10, 2), (0, 6, 4)):
        with closing(sqlite3.connect(store)) as connection, connection:
            change = "UPDATE frontier SET state = ? WHERE id = ? AND state = ?"
            assert connection.execute(change, (new, page, old)).rowcount == 1
        assert any("page" in problem for problem in audit(store).wrong)
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute(change, (old, page, new))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("meta SET value = replace(value, '[[0, 1,', '[[0, 2,') WHERE name = 'channels'", "were"),
        ("steps SET amount = 5 WHERE kind = 11", "gap"),
        ("meta SET value = json_set(value, '$.shard', 0) WHERE name = 'terms'", "shard 1"),
    ],
)
def test_the_audit_finds_damage_of_a_shard(store: Path, change: str, named: str) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        assert connection.execute(f"UPDATE {change}").rowcount == 1
    assert any(named in problem for problem in audit(store).wrong), audit(store).wrong


def test_reports_leave_out_foreign_pages(store: Path) -> None:
    with Store(store) as seen:
        shown = [row.url for row in seen.pages()]
        assert [row.url for row in seen.pages(1)] == shown[:1]
        assert sum(row.importance for row in seen.pages()) == pytest.approx(1)
        found = seen.status()
    assert sorted(shown) == sorted(OWN[:4])
    assert (found.pages_known, found.pages_fetched, found.pages_unread) == (4, 2, 2)
    with closing(sqlite3.connect(store)) as connection:
        assert len(connection.execute("SELECT * FROM pages").fetchall()) == 4
        targets = connection.execute("SELECT target, target_state FROM links").fetchall()
    assert (STRANGE[2], State.FOREIGN.label) in targets


def test_a_single_shard_cannot_be_refined(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["refine", "--store", str(store)]) == 2
    assert "shard 1 of 2" in capsys.readouterr().err
