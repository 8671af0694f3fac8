"""Reads a PDF that was kept in a process of its own, for commands that show what is kept.

Law: a file that takes too long, too much memory or ends its process says nothing, and why.
"""

from __future__ import annotations

import json
import subprocess
import sys

from minicrawl.errors import UsageError
from minicrawl.memory import limit_memory
from minicrawl.web.documents import pdf
from minicrawl.web.documents.pdf import PdfText

DEADLINE_S = 10.0
_CODE = "from minicrawl.report.archived.pdf_apart import main; main()"


def read_pdf(body: bytes, deadline_s: float = DEADLINE_S) -> PdfText:
    """What a file says."""
    if not pdf.is_readable():
        raise UsageError(pdf.MISSING)
    try:
        done = subprocess.run(
            (sys.executable, "-c", _CODE),
            input=body,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=deadline_s,
            check=True,
        )
    except subprocess.TimeoutExpired:
        return PdfText(limit=f"it was not read in {deadline_s:g} s")
    except subprocess.CalledProcessError:
        return PdfText(limit="it ended the process that read it")
    title, links, lines, limit = json.loads(done.stdout)
    return PdfText(title, tuple(links), tuple(lines), limit)


def main() -> None:
    """The process: a file comes in, and what it says goes out."""
    limit_memory()
    json.dump(pdf.read(sys.stdin.buffer.read()), sys.stdout)
