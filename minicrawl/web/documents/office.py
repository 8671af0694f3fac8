"""Office documents and books: docx, pptx, odt, odp and epub, which are ZIP archives of XML.

    docx        the document, paragraph by paragraph, then its notes
    pptx        the slides, in the order of the presentation
    odt, odp    the content, notes after their paragraphs, without what was deleted and comments
    epub        the chapters, in the order of the spine

Laws: nothing outside the file is opened. At most `MOST_BYTES` are unpacked and `MOST_CHARS`
characters read, so a bomb costs no more than a large file; a limit that was reached is reported. A
damaged file gives the text before the damage.

part    file in the archive
link    target of a hyperlink to the web; links within the document lead nowhere
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from posixpath import dirname, join, normpath
from types import MappingProxyType
from typing import Any, NamedTuple, cast
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

from lxml import etree

from minicrawl.web.documents.document import MOST_CHARS, FileText
from minicrawl.web.documents.writing import tidy
from minicrawl.web.encoding.detection import decode

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
    signs: Mapping[str, str] = MappingProxyType({"tab": " "})
    breaks: frozenset[str] = frozenset(("br",))
    notes: frozenset[str] = frozenset()  # lines inside another line, which go after it
    skipped: frozenset[str] = frozenset()


_DOCX = _Format(
    lines=frozenset(("p",)),
    texts=frozenset(("t",)),
    signs=MappingProxyType({"noBreakHyphen": "-", "tab": " "}),
    breaks=frozenset(("br", "cr")),
    skipped=frozenset(("Fallback", "moveFrom", "tabs")),
)
_PPTX = _Format(lines=frozenset(("p",)), texts=frozenset(("t",)))
_ODF = _Format(
    lines=frozenset(("p", "h")),
    signs=MappingProxyType({"s": " ", "tab": " "}),
    breaks=frozenset(("line-break",)),
    notes=frozenset(("note-body",)),
    skipped=frozenset(("tracked-changes", "annotation", "note-citation")),
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
        self._interrupted: list[list[str]] = []
        self._notes: list[str] = []
        self._lines_open = self._texts_open = self._skipped_open = 0
        self._field = ""

    def begin(self, form: _Format, targets: dict[str, str]) -> None:
        """Begin a part; `targets` has the links that it names by ids."""
        self._format, self._targets = form, targets
        self._line, self._field, self._interrupted = [], "", []
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
        elif name in form.signs:
            self._line.append(form.signs[name])
        elif name in form.breaks:
            self._end_line()
        elif name in form.notes:
            self._interrupted.append(self._line)
            self._line = []
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
        elif name in form.notes:
            self._end_line()
            self._line = self._interrupted.pop()
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
        line = " ".join("".join(self._line).split())
        self._line = []
        if self._interrupted:
            self._notes.append(line)
        else:
            self.lines += filter(None, (line, *self._notes))
            self._notes = []

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
        return {row.get("Id", ""): row.get("Target", "") for row in self._relationships(name)}

    def related(self, name: str, kind: str) -> list[str]:
        """Return the parts in this relation to a part, or to the package, whose name is ""."""
        return [
            _path(dirname(name), row.get("Target", ""))
            for row in self._relationships(name)
            if row.get("Type", "").endswith(f"/{kind}")
        ]

    def _relationships(self, name: str) -> Iterator[etree._Element]:
        place = join(dirname(name), "_rels", f"{name.rpartition('/')[2]}.rels")
        return self.tree(place).iter("{*}Relationship")

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
    if form is _XHTML:
        content = decode(content, None)[0].encode()
    target = cast(Any, text)  # lxml's types allow names in bytes, which none of its parsers gives
    # Chapters have the named entities of HTML, whose definitions XML would load from the network.
    parser: etree.XMLParser | etree.HTMLParser = (
        etree.HTMLParser(target=target, encoding="utf-8", no_network=True)
        if form is _XHTML
        else etree.XMLParser(target=target, resolve_entities=False, no_network=True, recover=True)
    )
    with suppress(etree.XMLSyntaxError):
        etree.fromstring(content, parser)
    if any(error.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT for error in parser.error_log):
        raise _TooMuch("a file is read up to what is nested too deeply, or repeated by entities")


def _outline(package: _Package) -> tuple[str, list[tuple[str, _Format]]]:
    """Return the part with the title, and the parts with text in reading order."""
    core, names = "docProps/core.xml", package.names
    # Word on the web calls the document document2.xml.
    usual = "word/document.xml", "ppt/presentation.xml"
    mains = (*package.related("", "officeDocument"), *usual)
    main = next((name for name in mains if name in names), "")
    if main.startswith("word/"):
        notes = package.related(main, "footnotes") + package.related(main, "endnotes")
        return core, [(name, _DOCX) for name in (main, *notes)]
    if main.startswith("ppt/"):
        targets = package.targets(main)
        # The relationship of a slide is the id with a namespace, unlike its own.
        ids = (
            next((str(value) for name, value in row.items() if str(name).endswith("}id")), "")
            for row in package.tree(main).iter("{*}sldId")
        )
        return core, [(_path("ppt", targets.get(name, "")), _PPTX) for name in ids]
    if "content.xml" in names:
        return "meta.xml", [("content.xml", _ODF)]
    roots = package.tree("META-INF/container.xml").iter("{*}rootfile")
    book = next((row.get("full-path", "") for row in roots), "")
    tree, folder = package.tree(book), dirname(book)
    places = {row.get("id"): row.get("href", "") for row in tree.iter("{*}item")}
    chapters = (places.get(row.get("idref"), "") for row in tree.iter("{*}itemref"))
    return book, [(_path(folder, unquote(chapter)), _XHTML) for chapter in chapters]


def _path(folder: str, target: str) -> str:
    return normpath(join("/", folder, target)).lstrip("/")


def _local(name: str) -> str:
    return name.rpartition("}")[2]
