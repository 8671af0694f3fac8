from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.model import State
from minicrawl.report.crawl_status import Mirror, mirrors
from minicrawl.report.page_links import duplicates
from minicrawl.report.snapshot import snapshot
from tests.stores import A, HandCrawl


@pytest.mark.parametrize(("alike", "pages", "is_mirror"), [(8, 10, True), (7, 10, False)])
def test_a_host_whose_pages_mostly_repeat_another_host_is_a_mirror(
    tmp_path: Path, alike: int, pages: int, *, is_mirror: bool
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        originals = [f"http://a.example/{number}" for number in range(pages + 1)]
        twins = [f"http://twin.example/{number}" for number in range(pages)]
        crawl.seeds([*originals, *twins])
        for page in [*originals, *twins]:
            crawl.read(page)
        crawl.batch.mirrors += [(1, 0)] * 3 + [(0, 1)] * (
            alike - 3
        )  # either copy may be read first
    expected = [Mirror("http://twin.example", "http://a.example", alike)] if is_mirror else []
    assert mirrors(crawl.path) == expected


def test_a_few_equal_pages_do_not_make_a_mirror(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.mirrors += [(0, 1)] * 4
    assert mirrors(crawl.path) == []


@pytest.mark.parametrize("copy", ["a", "b"])
@pytest.mark.parametrize("larger", ["a", "b"])
def test_the_mirror_is_the_host_with_the_duplicates_whichever_is_older_or_larger(
    tmp_path: Path, copy: str, larger: str
) -> None:
    original = "b" if copy == "a" else "a"
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        names = range(10)
        crawl.seeds([f"http://{host}.example/{name}" for host in "ab" for name in names])
        crawl.seeds([f"http://{larger}.example/more"])
        for host in "ab":
            for name in names:
                crawl.read(f"http://{host}.example/{name}")
        crawl.read(f"http://{larger}.example/more")
        for name in names:
            url, of = (f"http://{host}.example/{name}" for host in (copy, original))
            crawl.moved(url, of, State.ALIAS)
        crawl.batch.mirrors += [(0, 1)] * 10
        crawl.checkpoint()
    assert mirrors(crawl.path) == [
        Mirror(f"http://{copy}.example", f"http://{original}.example", 10)
    ]
    with snapshot(crawl.path) as seen:
        found = {(row.url[:16], row.original[:16]) for row in duplicates(seen)}
    assert found == {(f"http://{copy}.example", f"http://{original}.example")}
