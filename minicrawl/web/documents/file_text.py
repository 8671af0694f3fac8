"""Text of a file that is not text: title, links and lines, and what a limit has cut.

Call a reader only where the process can be killed: a malicious file may take long or crash it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minicrawl.web.responses.types import DocumentType

MOST_CHARS = 5_000_000
"""Characters that are read of a file."""


class FileText(NamedTuple):
    """Title, links and text of a file."""

    title: str = ""
    links: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    limit: str = ""  # why content is missing


def reader_of(kind: DocumentType | None) -> Callable[[bytes], FileText] | None:
    """Return the reader of files of this type, or None if its documents are text."""
    match kind:
        case DocumentType.PDF:
            from minicrawl.web.documents.pdf import parse_pdf

            return parse_pdf
        case DocumentType.OFFICE:
            from minicrawl.web.documents.office import parse_office

            return parse_office
    return None
