"""Office documents and books: docx, pptx, odt, odp and epub, which are ZIP archives of XML.

    docx        the document, paragraph by paragraph
    pptx        the slides, in the order of the presentation
    odt, odp    the content, with what was deleted and the comments left out
    epub        the chapters, in the order of the spine

Laws: nothing outside the file is opened. At most `MOST_BYTES` are unpacked and `MOST_CHARS`
characters read, so a bomb costs no more than a large file; a limit that was reached is reported. A
damaged file gives the text before the damage.

part    file in the archive
link    target of a hyperlink to the web; links within the document lead nowhere
"""

import re
import zlib
from contextlib import suppress
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any, NamedTuple, cast
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree

from minicrawl.web.documents.document import MOST_CHARS, FileText
from minicrawl.web.documents.writing import tidy

MOST_BYTES = 100_000_000
_MOST_PARTS = 10_000
_MOST_LINKS = 50_000
_LONGEST_URL = 8192
_DAMAGE = (BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)
"""Errors of the archive: damaged, encrypted, or packed by an unknown method."""
_FIELD = re.compile(r"\s*HYPERLINK\s+\"([^\"]+)\"")
_WEB = ("http://", "https://")


class _Format(NamedTuple):
    """Names of elements, without namespaces: what is a line, and where its text is."""

    lines: frozenset[str]
    texts: frozenset[str] = frozenset()  # empty: all text within a line
    spaces: frozenset[str] = frozenset(("tab",))
    breaks: frozenset[str] = frozenset(("br",))
    skipped: frozenset[str] = frozenset()


_DOCX = _Format(
    lines=frozenset(("p",)),
    texts=frozenset(("t",)),
    breaks=frozenset(("br", "cr")),
    skipped=frozenset(("Fallback", "moveFrom", "tabs")),
)
_PPTX = _Format(lines=frozenset(("p",)), texts=frozenset(("t",)))
_ODF = _Format(
    lines=frozenset(("p", "h")),
    spaces=frozenset(("s", "tab")),
    breaks=frozenset(("line-break",)),
    skipped=frozenset(("tracked-changes", "annotation")),
)
_XHTML = _Format(
    lines=frozenset(
        (
            *("address", "article", "aside", "blockquote", "body", "caption", "dd", "div", "dl"),
            *("dt", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6"),
            *("header", "hr", "li", "main", "nav", "ol", "p", "pre", "section", "table", "td"),
            *("th", "tr", "ul"),
        )
    ),
    breaks=frozenset(("br",)),
    skipped=frozenset(("head", "script", "style", "template")),
)


class _TooMuch(Exception):
    """A limit was reached; the message names it."""


class _Text:
    """Lines and links of the parts that were read; called by the parser as its target."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.links: dict[str, None] = {}
        self._left = MOST_CHARS
        self._line: list[str] = []
        self._lines_open = self._texts_open = self._skipped_open = 0
        self._field = ""

    def begin(self, form: _Format, targets: dict[str, str]) -> None:
        """Begin a part; `targets` has the links that it names by ids."""
        self._format, self._targets = form, targets
        self._line, self._field = [], ""
        self._lines_open = self._texts_open = self._skipped_open = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name, form = _local(tag), self._format
        if self._skipped_open or name in form.skipped:
            self._skipped_open += 1
            return
        if name in form.lines:
            self._end_line()
            self._lines_open += 1
        elif name in form.texts:
            self._texts_open += 1
        elif name in form.spaces:
            self._line.append(" ")
        elif name in form.breaks:
            self._end_line()
        elif name == "instrText":
            self._field = ""
        for attribute, value in attributes.items():
            match _local(attribute):
                case "href":
                    self._link(value)
                case "id" if name in ("hyperlink", "hlinkClick"):
                    self._link(self._targets.get(value, ""))
                case "instr" if field := _FIELD.match(value):
                    self._link(field[1])

    def end(self, tag: str) -> None:
        name, form = _local(tag), self._format
        if self._skipped_open:
            self._skipped_open -= 1
        elif name in form.lines:
            self._end_line()
            self._lines_open -= 1
        elif name in form.texts:
            self._texts_open -= 1
        elif name == "instrText" and (field := _FIELD.match(self._field)):
            self._link(field[1])

    def data(self, text: str) -> None:
        if self._skipped_open:
            return
        if self._texts_open or (self._lines_open and not self._format.texts):
            self._left -= len(text)
            if self._left < 0:
                raise _TooMuch(f"only {MOST_CHARS:,} characters of a file are read")
            self._line.append(text)
        elif len(self._field) < _LONGEST_URL:
            self._field += text

    def close(self) -> None:
        self._end_line()

    def _end_line(self) -> None:
        if line := " ".join("".join(self._line).split()):
            self.lines.append(line)
        self._line = []

    def _link(self, url: str) -> None:
        if url.lower().startswith(_WEB) and len(url) <= _LONGEST_URL:
            self.links.setdefault(url)
            if len(self.links) > _MOST_LINKS:
                raise _TooMuch(f"only {_MOST_LINKS:,} links of a file are read")


class _Package:
    """Parts of an archive, unpacked within the limit of all of them together."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive, self._left = archive, MOST_BYTES
        self.names = frozenset(archive.namelist()[:_MOST_PARTS])

    def read(self, name: str) -> bytes:
        """Return a part; empty if there is none."""
        if name not in self.names:
            return b""
        with self._archive.open(name) as part:
            content = part.read(self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise _TooMuch(f"only {MOST_BYTES // 1_000_000} MB of a file are unpacked")
        return content

    def tree(self, name: str) -> etree._Element:
        """Return a part that names others, without entities; an empty element if it is broken."""
        parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
        root = etree.fromstring(self.read(name) or b"<none/>", parser)
        return etree.Element("none") if root is None else root

    def targets(self, name: str) -> dict[str, str]:
        """Return the targets of a part's relationships by id."""
        place = join(dirname(name), "_rels", f"{name.rpartition('/')[2]}.rels")
        rows = self.tree(place).iter("{*}Relationship")
        return {row.get("Id", ""): row.get("Target", "") for row in rows}

    def title(self, name: str) -> str:
        return next((tidy(row.text or "") for row in self.tree(name).iter("{*}title")), "")


def parse_office(body: bytes) -> FileText:
    """Read a file. If its metadata have no title, the first line is the title."""
    text, title, limit = _Text(), "", ""
    try:
        with ZipFile(BytesIO(body)) as archive:
            package = _Package(archive)
            metadata, parts = _outline(package)
            if not parts:
                return FileText(limit="the file is neither docx, pptx, odt, odp nor epub")
            with suppress(*_DAMAGE):
                title = package.title(metadata)
            for name, form in parts:
                _read_part(package, name, form, text)
    except _TooMuch as reached:
        limit = str(reached)
    except _DAMAGE as damage:
        limit = f"the file cannot be read: {tidy(str(damage))}"
    text.close()
    first = next(iter(text.lines), "")
    return FileText(title or tidy(first), tuple(text.links), tuple(text.lines), limit)


def _read_part(package: _Package, name: str, form: _Format, text: _Text) -> None:
    content = package.read(name)
    if not content.strip():
        return
    text.begin(form, package.targets(name) if form in (_DOCX, _PPTX) else {})
    target = cast(Any, text)  # lxml's types allow names in bytes, which none of its parsers gives
    # Chapters have the named entities of HTML, whose definitions XML would load from the network.
    parser: etree.XMLParser | etree.HTMLParser = (
        etree.HTMLParser(target=target, encoding="utf-8", no_network=True)
        if form is _XHTML
        else etree.XMLParser(target=target, resolve_entities=False, no_network=True, recover=True)
    )
    with suppress(etree.XMLSyntaxError):
        etree.fromstring(content, parser)


def _outline(package: _Package) -> tuple[str, list[tuple[str, _Format]]]:
    """Return the part with the title, and the parts with text in reading order."""
    core, names = "docProps/core.xml", package.names
    if "word/document.xml" in names:
        return core, [("word/document.xml", _DOCX)]
    if (show := "ppt/presentation.xml") in names:
        targets = package.targets(show)
        # The relationship of a slide is the id with a namespace, unlike its own.
        ids = (
            next((str(value) for name, value in row.items() if str(name).endswith("}id")), "")
            for row in package.tree(show).iter("{*}sldId")
        )
        slides = (normpath(join("/ppt", targets.get(name, ""))).lstrip("/") for name in ids)
        return core, [(slide, _PPTX) for slide in slides]
    if "content.xml" in names:
        return "meta.xml", [("content.xml", _ODF)]
    roots = package.tree("META-INF/container.xml").iter("{*}rootfile")
    book = next((row.get("full-path", "") for row in roots), "")
    tree, folder = package.tree(book), dirname(book)
    places = {row.get("id"): row.get("href", "") for row in tree.iter("{*}item")}
    chapters = (places.get(row.get("idref"), "") for row in tree.iter("{*}itemref"))
    return book, [(normpath(join(folder, unquote(chapter))), _XHTML) for chapter in chapters]


def _local(name: str) -> str:
    return name.rpartition("}")[2]
