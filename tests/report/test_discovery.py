"""Pages count for the page that named them first, and for the seed that led to it."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.ports import unreported
from minicrawl.report.site.site_report import site_report
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.discovery import discovery
from minicrawl.states import State
from tests.stores import NOON, HandCrawl

A, B, C, GRAPH = "http://a.example", "http://b.example", "http://c.example", "http://d.example"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([f"{A}/", f"{B}/"], endowment=1)
        crawl.read(f"{A}/", [f"{A}/1", f"{B}/1"])
        crawl.read(f"{A}/1", [f"{A}/2", f"{C}/"])
        crawl.seeds([f"{B}/of-sitemap", f"{C}/of-sitemap", f"{GRAPH}/"])
        crawl.seeds([f"{A}/2"], endowment=1)  # named as a seed by a later run
        crawl.read(f"{A}/2", [f"{A}/3"])
        crawl.moved(f"{A}/3", f"{A}/4")
        crawl.ended(f"{B}/", State.TIMEOUT)
    return tmp_path / "crawl.db"


def test_each_page_has_its_finder_and_its_source(path: Path) -> None:
    with snapshot(path) as seen:
        of_pages, of_seeds, seeds = discovery(seen)
        url = [*map(seen.url, range(len(seen))), None]
        finders = {url[page]: url[finder] for page, finder in enumerate(of_pages)}
        sources = {url[page]: url[source] for page, source in enumerate(of_seeds)}
        assert [url[seed] for seed in seeds] == [f"{A}/", f"{B}/", f"{A}/2"]
    assert finders == {
        f"{A}/": None,
        f"{B}/": None,
        f"{A}/1": f"{A}/",
        f"{B}/1": f"{A}/",
        f"{A}/2": f"{A}/1",
        f"{C}/": f"{A}/1",
        f"{B}/of-sitemap": None,
        f"{C}/of-sitemap": None,
        f"{GRAPH}/": None,
        f"{A}/3": f"{A}/2",
        f"{A}/4": f"{A}/3",
    }
    of_a = (f"{A}/", f"{A}/1", f"{B}/1", f"{C}/", f"{C}/of-sitemap")
    of_a2 = (f"{A}/2", f"{A}/3", f"{A}/4")
    assert sources == {
        **dict.fromkeys(of_a, f"{A}/"),
        **dict.fromkeys(of_a2, f"{A}/2"),
        f"{B}/": f"{B}/",
        f"{B}/of-sitemap": f"{B}/",
        f"{GRAPH}/": None,
    }


def test_the_report_counts_pages_by_seed(path: Path) -> None:
    with snapshot(path) as seen:
        sections = site_report(seen, NOON, unreported).sections
    (section,) = [one for one in sections if one.name == "Start pages"]
    assert section.columns == ("pages", "read", "outcome", "url")
    assert section.rows == [
        (5, 2, "fetched", f"{A}/"),
        (3, 1, "fetched", f"{A}/2"),
        (2, 0, "timeout", f"{B}/"),
    ]


def test_an_empty_store_has_no_seeds(tmp_path: Path) -> None:
    HandCrawl(tmp_path / "crawl.db").close()
    with snapshot(tmp_path / "crawl.db") as seen:
        assert [len(one) for one in discovery(seen)] == [0, 0, 0]
