"""Words in and around links, counted by hand in kept pages."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minicrawl.app import Crawl
from minicrawl.demo.pytest_plugin import DictWeb
from minicrawl.demo.server import DemoServer
from minicrawl.report.archived.page_versions import words_of_links
from minicrawl.report.snapshot import snapshot
from tests.search.stored.stores import keep, read_into

HOME, MILL, NEWS, OLD = (f"http://a.example/{name}" for name in ("", "mill", "news", "old"))
TEN = "nine-long "
"""Word of ten characters with its space: exactly five fit on each side of a link."""


def crawled(path: Path, pages: Mapping[str, Any], keep: str = "pages") -> None:
    web = DictWeb(pages)
    with DemoServer(web) as server:
        web.address = server.address
        Crawl([HOME], web.settings(store=path, keep=keep)).run()


def link_words(path: Path, *urls: str) -> dict[tuple[str, str], str]:
    """Return the words of each link, keyed by source and target."""
    with snapshot(path) as seen:
        return {(urls[page], url): words for page, url, words in words_of_links(seen, urls)}


def test_the_context_of_a_link_is_fifty_characters_on_either_side(path: Path) -> None:
    near = TEN * 5
    assert len(near.strip()) == 49
    crawled(
        path,
        {
            HOME: f"<p>without {near}<a href=mill>The <b>old</b> mill</a> {near}without",
            # 47 characters and a word of two, which does not fit as a whole.
            MILL: f"<p>no {'seven7 ' * 7}<a href=news>news</a> {'seven7 ' * 7}no",
            # 46 characters and a word of three, which makes fifty with a space.
            NEWS: f"<p>without yes {TEN * 4}sixth <a href=old>old</a>{TEN * 4} sixth yes without",
            OLD: "the end",
        },
    )
    five, seven, six = ("nine-long " * 5).strip(), ("seven7 " * 7).strip(), "nine-long " * 4
    assert link_words(path, HOME, MILL, NEWS, OLD) == {
        (HOME, MILL): f"{five} The old mill {five}",
        (MILL, NEWS): f"{seven} news {seven}",
        (NEWS, OLD): f"yes {six}sixth old {six}sixth yes",
    }


def test_only_visible_words_count(path: Path) -> None:
    latin = {"Content-Type": "text/html; charset=iso-8859-1"}
    body = (
        "<base href='/'><p>Salt &amp; caf\xe9 <script>x = 'hidden'</script><!-- nor this -->"
        "<a href='mill?utm_source=feed'>m&uuml;hle</a> <i>by</i>\n\tthe<br>quay"
    )
    crawled(path, {HOME: (200, latin, body.encode("latin-1")), MILL: "the end"})
    assert link_words(path, HOME, MILL) == {(HOME, MILL): "Salt & café mühle by the quay"}


def test_the_last_version_of_a_page_counts(path: Path) -> None:
    read_into(path, {HOME: b"<p>red <a href=mill>mill</a>", MILL: b"the end"})
    keep(path, {HOME: b"<p>blue <a href=mill>mill</a>"})
    assert link_words(path, HOME) == {(HOME, MILL): "blue mill"}


def test_pages_kept_as_text_have_no_link_words(path: Path) -> None:
    crawled(path, {HOME: "<p>red <a href=mill>mill</a>", MILL: "the end"}, keep="text")
    assert link_words(path, HOME) == {}
