from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.model import State
from minicrawl.report.crawl_status import Mirror, mirrors
from minicrawl.report.page_links import duplicates
from minicrawl.report.snapshot import snapshot
from tests.stores import A, HandCrawl


@pytest.mark.parametrize(("alike", "pages", "is_mirror"), [(8, 10, True), (7, 10, False)])
def test_a_host_of_which_most_pages_repeat_another_is_a_mirror(
    tmp_path: Path, alike: int, pages: int, *, is_mirror: bool
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        originals = [f"http://a.example/{number}" for number in range(pages + 1)]
        twins = [f"http://twin.example/{number}" for number in range(pages)]
        crawl.seeds([*originals, *twins])
        for page in [*originals, *twins]:
            crawl.read(page)
        crawl.batch.mirrors += [(1, 0)] * 3 + [(0, 1)] * (alike - 3)  # whichever was read first
    expected = [Mirror("http://twin.example", "http://a.example", alike)] if is_mirror else []
    assert mirrors(crawl.path) == expected


def test_a_few_pages_alike_make_no_mirror(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.batch.mirrors += [(0, 1)] * 4
    assert mirrors(crawl.path) == []


def test_a_mirror_is_told_in_a_line() -> None:
    mirror = Mirror("http://twin.example", "http://a.example", 1234)
    assert str(mirror) == "http://twin.example mirrors http://a.example (1,234 pages)"


@pytest.mark.parametrize("copy", ["a", "b"])
@pytest.mark.parametrize("larger", ["a", "b"])
def test_the_mirror_is_the_host_of_the_duplicates(tmp_path: Path, copy: str, larger: str) -> None:
    """Whichever was known first, and whichever has more pages."""
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
