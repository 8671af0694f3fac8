"""Reads an archived PDF in a separate process, for commands that show archived pages.

Law: a file that takes too long or too much memory, or crashes the process, has no text, but a
message that says why.
"""

from __future__ import annotations

import json
import sys

from minicrawl.errors import UsageError
from minicrawl.memory.limits import PATIENCE_S, limit_processor_time, why_ended
from minicrawl.report.archived.killable_process import KillableProcess, Parent
from minicrawl.web.documents.pdf import PDF_MISSING, PdfText, can_read_pdf, parse_pdf

PDF_DEADLINE_S = 10.0
_PDF_CODE = "from minicrawl.report.archived.pdf_reader import pdf_main; pdf_main()"


def read_pdf(body: bytes, deadline_s: float = PDF_DEADLINE_S) -> PdfText:
    """Return the text of a PDF; an archived one is read once by `PageVersion.pdf`."""
    if not can_read_pdf():
        raise UsageError(PDF_MISSING)
    process = KillableProcess(_PDF_CODE, (str(deadline_s),))
    try:
        process.ask(body)
        answer = process.answer(PATIENCE_S)
    finally:
        process.end()
    if answer is not None:
        title, links, lines, limit = json.loads(answer)
        return PdfText(title, tuple(links), tuple(lines), limit)
    return PdfText(limit=why_ended(process.child.returncode, deadline_s))


def pdf_main() -> None:
    """Run the process: read a PDF, and answer with its text as JSON."""
    parent = Parent()
    parent.answer(b"")
    body = parent.asked()
    limit_processor_time(float(sys.argv[1]))
    parent.answer(json.dumps(parse_pdf(body)).encode())
