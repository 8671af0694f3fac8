"""PDF files: title, text and links, by PDFium.

Call `parse_pdf` only where the process can be killed: a malicious file may take long or crash it.
A file that cannot be read gives a reason and nothing else. At most `MOST_PAGES` pages and
`MOST_CHARS` characters are read; a limit that was reached is reported. No script of a file runs,
and nothing that it refers to is opened.

link    area of a page that leads to a URL when clicked, or a URL in the text
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage
from minicrawl.web.documents.document import MOST_CHARS, FileText
from minicrawl.web.documents.writing import tidy

MOST_PAGES = 2_000
_MOST_LINKS_OF_A_PAGE = 2_000
_LONGEST_URL = 8192
PDF_MISSING = "reading PDF needs pypdfium2: install minicrawl[pdf]"


def can_read_pdf() -> bool:
    return find_spec("pypdfium2") is not None


def parse_pdf(body: bytes) -> FileText:
    """Read a PDF file. If its metadata have no title, the first line is the title."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        return FileText(limit=f"the PDF cannot be read: {tidy(str(error))}")
    with closing(document):
        reading = _Reading()
        reading.read(document)
        title = tidy(document.get_metadata_value("Title"))
        first = next(iter(reading.lines), "")
        return FileText(
            title or tidy(first), tuple(reading.links), tuple(reading.lines), reading.limit
        )


class _Reading:
    """Content of the pages read so far."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.links: dict[str, None] = {}
        self.limit = ""
        self._left = MOST_CHARS

    def read(self, document: PdfDocument) -> None:
        """Read page after page; broken pages are skipped."""
        import pypdfium2

        count = len(document)
        for number in range(min(count, MOST_PAGES)):
            try:
                page = document[number]
            except pypdfium2.PdfiumError:
                self.limit = "not all pages of the PDF can be read"
                continue
            with closing(page):
                self._read_page(document, page)
            if not self._left:
                self.limit = f"only {MOST_CHARS:,} characters of a PDF are read"
                return
        if count > MOST_PAGES:
            self.limit = f"only {MOST_PAGES:,} pages of a PDF are read"

    def _read_page(self, document: PdfDocument, page: PdfPage) -> None:
        import pypdfium2

        for url in _areas(document, page):
            self.links.setdefault(url)
        try:
            with closing(page.get_textpage()) as text:
                count = min(text.count_chars(), self._left)
                if count > 0:
                    self._left -= count
                    page_text = text.get_text_range(0, count).encode("utf-8", "replace").decode()
                    lines = (" ".join(line.split()) for line in page_text.splitlines())
                    self.lines += filter(None, lines)
                for url in _urls_in(text):
                    self.links.setdefault(url)
        except pypdfium2.PdfiumError:
            self.limit = "not all pages of the PDF can be read"


def _areas(document: PdfDocument, page: PdfPage) -> Iterator[str]:
    """Yield the URLs of the clickable areas."""
    from pypdfium2 import raw

    at, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(_MOST_LINKS_OF_A_PAGE):
        if not raw.FPDFLink_Enumerate(page, at, link):
            return
        action = raw.FPDFLink_GetAction(link)
        if action and raw.FPDFAction_GetType(action) == raw.PDFACTION_URI:
            length = min(raw.FPDFAction_GetURIPath(document, action, None, 0), _LONGEST_URL)
            written = ctypes.create_string_buffer(_LONGEST_URL)
            if 0 < raw.FPDFAction_GetURIPath(document, action, written, length) <= length:
                yield written.value.decode("utf-8", "replace")


def _urls_in(text: PdfTextPage) -> Iterator[str]:
    """Yield the URLs that PDFium finds in the text, even across line ends."""
    from pypdfium2 import raw

    links = raw.FPDFLink_LoadWebLinks(text)
    if not links:
        return
    try:
        for number in range(min(raw.FPDFLink_CountWebLinks(links), _MOST_LINKS_OF_A_PAGE)):
            length = min(raw.FPDFLink_GetURL(links, number, None, 0), _LONGEST_URL)
            written = (ctypes.c_ushort * _LONGEST_URL)()
            raw.FPDFLink_GetURL(links, number, written, length)
            url = bytes(written)[: 2 * max(length - 1, 0)].decode("utf-16le", "replace")
            if url.lower().startswith(("http://", "https://")):
                yield url
    finally:
        raw.FPDFLink_CloseWebLinks(links)
