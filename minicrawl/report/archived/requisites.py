"""URLs of the resources that archived pages and stylesheets need for display.

requisite  a URL that a page or a stylesheet needs for display
"""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, key_of
from minicrawl.errors import Damaged
from minicrawl.web.encoding.detection import decode
from minicrawl.web.html.references import (
    LEADS_ON,
    Reference,
    manifest_references,
    references,
    style_references,
)
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.urls import canonical, origin, pictured

_STYLE, PAGE_TYPES = "text/css", ("text/html", "application/xhtml+xml")
_DRAWING = "image/svg+xml"
_MANIFEST = ("application/manifest+json", "application/json", "text/json")
_LEADING_ON = (".css", ".svg", ".webmanifest")
Needed = Iterator[tuple[str, bool]]
"""URLs, each with True if it is used as a stylesheet or a manifest, which need further files."""


def may_lead_on(url: str) -> bool:
    """Return True if a URL has the suffix of a file that needs further files, such as .css."""
    return urlsplit(url).path.lower().endswith(_LEADING_ON)


def needed_by_file(answer: Answer) -> Needed:
    """Yield what a stylesheet, a drawing or a manifest needs, or the target of a redirect."""
    kind = media_type_of(answer)[0]
    if (target := answer.headers.get("location")) is not None:
        # The target of a redirect may be a stylesheet. Its type is not known before it is read, so
        # it is treated as a file that needs further files.
        yield from resolved_urls([Reference(target, "", "", "style")], answer.url)
    elif kind == _STYLE:
        yield from resolved_urls(style_references(decoded_page(answer)[0]), answer.url)
    elif kind == _DRAWING:
        yield from resolved_urls(references(*decoded_page(answer)).assets, answer.url)
    elif kind in _MANIFEST:
        yield from resolved_urls(manifest_references(decoded_page(answer)[0]), answer.url)


class KeptRequisites:
    """Collector of the resources that pages need, and of their archived responses."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive
        self._written: set[int] = set()  # keys of URLs
        self._needed: dict[str, None] = {}

    def add_page(self, answer: Answer) -> None:
        self.add(answer.requested.left_out)
        if media_type_of(answer)[0] in PAGE_TYPES:
            parsed = references(*decoded_page(answer))
            base = canonical(parsed.base, answer.url) if parsed.base else None
            self.add(url for url, _ in resolved_urls(parsed.assets, base or answer.url))

    def leave_out(self, url: str) -> None:
        """Note that all versions of a URL have been written."""
        self._written.add(key_of(url))

    def add(self, urls: Iterable[str]) -> None:
        """Add other files that are wanted."""
        self._needed |= dict.fromkeys(urls)

    def answers(self) -> Iterator[Answer]:
        """Yield the archived responses of each requisite, in the order they are needed."""
        done: set[str] = set()
        # In rounds, since each response may name further files: a stylesheet imports others, and a
        # redirect has a target. `done` breaks cycles of stylesheets that import each other.
        while todo := [url for url in self._needed if url not in done]:
            self._needed.clear()
            for url in todo:
                done.add(url)
                self.add([f"{origin(pictured(url))}/robots.txt"])
                # A page shown in a frame, or a linked file, may have been written as a page.
                if key_of(url) not in self._written:
                    for row in self._archive.versions(url):
                        try:
                            answer = self._archive.answer(row.place)
                        except Damaged:  # `minicrawl check` reports it
                            continue
                        self.add(other for other, _ in needed_by_file(answer))
                        yield answer


def media_type_of(answer: Answer) -> tuple[str, str | None]:
    return parse_content_type(answer.headers.get("content-type"))


def decoded_page(answer: Answer) -> tuple[str, str]:
    """Return the text of a body, and the name of its encoding."""
    return decode(answer.body, media_type_of(answer)[1])


def resolved_urls(references: Iterable[Reference], base: str) -> Needed:
    for reference in references:
        if (url := canonical(reference.written, base)) is not None:
            yield url, reference.kind in LEADS_ON
