"""Reads an archived PDF or office document in a separate process, for commands that show pages.

Law: a file that takes too long or too much memory, or crashes the process, has no text, but a
message that says why.
"""

import json
import sys

from minicrawl.errors import UsageError
from minicrawl.memory.limits import PATIENCE_S, limit_processor_time, why_ended
from minicrawl.report.archived.killable_process import KillableProcess, Parent
from minicrawl.web.documents.document import FileText, reader_of
from minicrawl.web.documents.pdf import PDF_MISSING, can_read_pdf
from minicrawl.web.responses.types import DocumentType

DEADLINE_S = 10.0
_CODE = "from minicrawl.report.archived.file_reader import answer_with_text; answer_with_text()"


def read_file(body: bytes, kind: DocumentType, deadline_s: float = DEADLINE_S) -> FileText:
    """Return the text of a file; an archived one is read once by `PageVersion.file`."""
    if kind is DocumentType.PDF and not can_read_pdf():
        raise UsageError(PDF_MISSING)
    process = KillableProcess(_CODE, (str(int(kind)), str(deadline_s)))
    try:
        process.ask(body)
        answer = process.answer(PATIENCE_S)
    finally:
        process.end()
    if answer is not None:
        title, links, lines, limit = json.loads(answer)
        return FileText(title, tuple(links), tuple(lines), limit)
    return FileText(limit=why_ended(process.child.returncode, deadline_s))


def answer_with_text() -> None:
    """Run the process: read a file, and answer with its text as JSON."""
    kind, deadline_s = DocumentType(int(sys.argv[1])), float(sys.argv[2])
    read, parent = reader_of(kind), Parent()
    assert read is not None
    parent.answer(b"")
    body = parent.asked()
    limit_processor_time(deadline_s)
    parent.answer(json.dumps(read(body)).encode())
