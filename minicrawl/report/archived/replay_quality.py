"""Quality of a replay: how much pages that are opened from the archive look and read as recorded.

Pages are drawn at random, by importance, so that pages that matter are looked at first. The worst
come first in the table and in the HTML page, which has both pictures of each.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from html import escape
from random import Random
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.replay import PageToReplay, Replayed, ReplayedArchive
from minicrawl.report.selected_pages import PageSelection, rows
from minicrawl.report.snapshot import Snapshot
from minicrawl.wording import counted

_MOST_SHOWN = 20
"""Requests without a response that the HTML page lists for each page."""
_STYLE = (
    "body{font:15px/1.4 sans-serif;margin:2em}"
    "figure{display:inline-block;width:48%;margin:0 1% 0 0}"
    "img{width:100%;border:1px solid #999}h2{font-size:1em;overflow-wrap:anywhere}"
)


class PageQuality(NamedTuple):
    """Shares of a page's text and of its picture that are as recorded, and its lost requests."""

    url: str
    text: float
    picture: float
    failed: int


def sample(snapshot: Snapshot, archive: ArchiveReader, count: int) -> Iterator[PageToReplay]:
    """Yield pages of the archive, drawn at random by importance, the same in every run."""
    random, replayed = Random(count), ReplayedArchive(archive)
    # The largest of u^(1/w) are a sample by the weights w (Efraimidis and Spirakis).
    drawn = [
        (random.random() ** (1 / max(row.importance or 0.0, 1e-12)), row.url)
        for row in rows(snapshot, PageSelection(fetched=True, only_pages=True))
    ]
    pages = filter(None, (replayed.page(url) for _, url in sorted(drawn, reverse=True)))
    yield from (page for _, page in zip(range(count), pages, strict=False))


def quality(page: Replayed) -> PageQuality:
    """Return the quality of a page; the share of text is the F-measure of its words."""
    recorded, replayed = (Counter(drawing.text.split()) for drawing in page[1:3])
    common, all_words = (recorded & replayed).total(), recorded.total() + replayed.total()
    text = 2 * common / all_words if all_words else 1.0
    return PageQuality(page.url, text, 1 - page.difference, len(page.replayed.failed))


def worst_first(pages: Iterable[Replayed]) -> list[tuple[PageQuality, Replayed]]:
    """Return the pages with their qualities, sorted by the worse of text and picture."""
    rated = [(quality(page), page) for page in pages]
    return sorted(rated, key=lambda row: (min(row[0].text, row[0].picture), -row[0].failed))


def html(rated: Iterable[tuple[PageQuality, Replayed]]) -> Iterator[str]:
    """Yield the parts of an HTML page with both pictures of each page. It loads nothing."""
    yield "<!doctype html><meta charset=utf-8><title>Replay of the archive</title>"
    yield f"<style>{_STYLE}</style><h1>Replay of the archive, the worst pages first</h1>"
    for row, page in rated:
        yield f"<h2>{escape(row.url)}</h2><p>text {row.text:.0%}, picture {row.picture:.0%}, "
        yield f"{counted(row.failed, 'request')} without a response</p>"
        for words, drawing in (("as recorded", page.recorded), ("as replayed", page.replayed)):
            picture = b64encode(drawing.picture).decode()
            yield f'<figure><figcaption>{words}</figcaption><img alt="{words}" '
            yield f'src="data:image/png;base64,{picture}"></figure>'
        failed = "".join(f"<li>{escape(url)}" for url in page.replayed.failed[:_MOST_SHOWN])
        yield f"<ul>{failed}</ul>"
