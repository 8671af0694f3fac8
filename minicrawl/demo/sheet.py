"""Pages before and after they are HTML, and answers: plain values.

sheet      what a page says: its title, its prose and its links, in the order of the page
anchor     a link as a page writes it: root-relative inside a host, absolute beyond it
answer     what a server says to one request
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Anchor(NamedTuple):
    """A link: where it leads and the words one clicks on."""

    href: str
    words: str
    nofollow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What a page says. `lists` are headings, each with the links that stand under it."""

    site: str
    title: str
    menu: Sequence[Anchor] = ()
    prose: Sequence[str] = ()
    lists: Sequence[tuple[str, Sequence[Anchor]]] = ()
    footer: Sequence[Anchor] = ()
    head: str = ""
    charset: str = "utf-8"

    def anchors(self) -> Iterator[Anchor]:
        """Every link of the page, in its order."""
        yield from self.menu
        for _, anchors in self.lists:
            yield from anchors
        yield from self.footer


class DemoResponse(NamedTuple):
    """What a server says to one request, and how long it takes to say it."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    delay_s: float = 0.0


def html(sheet: Sheet) -> str:
    """The page as it is written; the words of the demo need no escaping."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="{sheet.charset}">\n'
        f"<title>{sheet.title} – {sheet.site}</title>\n{sheet.head}</head>\n<body>\n"
        f"<header>{' | '.join(map(_a, sheet.menu))}</header>\n<main>\n<h1>{sheet.title}</h1>\n"
        f"{''.join([f'<p>{paragraph}</p>{chr(10)}' for paragraph in sheet.prose])}"
        f"{''.join([_section(heading, anchors) for heading, anchors in sheet.lists if anchors])}"
        f"</main>\n<footer>{' | '.join(map(_a, sheet.footer))}</footer>\n</body>\n</html>\n"
    )


def _section(heading: str, anchors: Sequence[Anchor]) -> str:
    items = "</li>\n<li>".join(map(_a, anchors))
    return f"<h2>{heading}</h2>\n<ul>\n<li>{items}</li>\n</ul>\n"


def _a(anchor: Anchor) -> str:
    rel = ' rel="nofollow"' if anchor.nofollow else ""
    return f'<a href="{anchor.href}"{rel}>{anchor.words}</a>'


def page(sheet: Sheet, headers: Mapping[str, str] | None = None) -> DemoResponse:
    """The page as an answer in UTF-8, with an ETag that changes whenever the page does."""
    body = html(sheet).encode()
    etag = f'"{zlib.crc32(body):08x}"'
    return DemoResponse(
        200, {"Content-Type": "text/html; charset=utf-8", "ETag": etag, **(headers or {})}, body
    )


def document(content_type: str, body: bytes) -> DemoResponse:
    """Anything that is not a page made of a sheet."""
    return DemoResponse(200, {"Content-Type": content_type}, body)


def text(words: str) -> DemoResponse:
    """A text such as robots.txt."""
    return document("text/plain; charset=utf-8", words.encode())


def moved(status: int, target: str) -> DemoResponse:
    """A redirect."""
    return DemoResponse(status, {"Location": target})


def refused(status: int, words: str, **headers: str) -> DemoResponse:
    """An error, with a body that says so; an underscore in a header's name is its hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return DemoResponse(status, {"Content-Type": "text/plain", **named}, words.encode())


MISSING = refused(404, "There is no such page.")
