"""What kept pages and styles need to be shown, as URLs.

requisite  a URL that a page needs to be shown, or that a style needs
"""

from collections.abc import Iterator

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, key_of
from minicrawl.errors import Damaged
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode
from minicrawl.web.html.references import Reference, references, style_references
from minicrawl.web.urls import canonical

_STYLE, _PAGE = "text/css", ("text/html", "application/xhtml+xml")
Needed = Iterator[tuple[str, bool]]
"""URLs, each with whether it must be a style."""


def is_style(answer: Answer) -> bool:
    """Whether an answer is a style, or a redirect that may lead to one."""
    return "location" in answer.headers or _kind(answer)[0] == _STYLE


def needed_by_style(answer: Answer) -> Needed:
    """What a style needs; of a redirect, its target."""
    if (target := answer.headers.get("location")) is not None:
        yield from _resolved([Reference(target, "", "", "style")], answer.url)
    elif _kind(answer)[0] == _STYLE:
        yield from _resolved(list(style_references(_text(answer))), answer.url)


def needed_by_page(answer: Answer) -> Needed:
    """What a page needs."""
    if _kind(answer)[0] in _PAGE:
        found = references(_text(answer))
        base = canonical(found.base, answer.url) if found.base else None
        yield from _resolved(found.assets, base or answer.url)


class KeptRequisites:
    """Gathers what pages need, and finds the answers that are kept of that."""

    def __init__(self, archive: ArchiveReader) -> None:
        self._archive = archive
        self._pages: set[int] = set()  # keys of their URLs
        self._needed: dict[str, None] = {}

    def add_page(self, answer: Answer) -> None:
        """This page is there, and what it needs is wanted."""
        self._pages.add(key_of(answer.url))
        self._needed |= {url: None for url, _ in needed_by_page(answer)}

    def answers(self) -> Iterator[Answer]:
        """Each answer that is kept of a requisite, in the order in which they are needed."""
        done: set[str] = set()
        while todo := [url for url in self._needed if url not in done]:
            self._needed.clear()
            for url in todo:
                done.add(url)
                if key_of(url) not in self._pages:
                    yield from self._versions(url)

    def _versions(self, url: str) -> Iterator[Answer]:
        for row in self._archive.versions(url):
            try:
                answer = self._archive.answer(row.place)
            except Damaged:  # `minicrawl check` names it
                continue
            self._needed |= {other: None for other, _ in needed_by_style(answer)}
            yield answer


def _kind(answer: Answer) -> tuple[str, str | None]:
    return parse_content_type(answer.headers.get("content-type"))


def _text(answer: Answer) -> str:
    return decode(answer.body, _kind(answer)[1])[0]


def _resolved(found: list[Reference], base: str) -> Needed:
    for one in found:
        if (url := canonical(one.written, base)) is not None:
            yield url, one.kind == "style"
