"""A kept file is read in a separate process that can be killed."""

import sys

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.archived.file_reader import read_file
from minicrawl.web.documents.document import FileText
from minicrawl.web.documents.pdf import parse_pdf
from minicrawl.web.responses.types import DocumentType
from tests.web.office_files import docx
from tests.web.pdfs import BOMB, pdf, words

GENEROUS_S = 250.0
PDF = DocumentType.PDF


def test_the_process_returns_the_result_of_the_parser() -> None:
    file = pdf(words("One", "Two"), title="\u00fc", links=["/a"])
    assert read_file(file, PDF) == parse_pdf(file) == FileText("\u00fc", ("/a",), ("One", "Two"))


def test_the_process_reads_office_documents_too() -> None:
    assert read_file(docx("One", "Two"), DocumentType.OFFICE).lines == ("One", "Two")


@pytest.mark.slow
def test_a_file_that_crashes_the_process_has_no_text_but_a_reason() -> None:
    assert read_file(BOMB, PDF, deadline_s=GENEROUS_S) == FileText(limit="the parser process ended")


def test_a_file_that_takes_too_long_has_no_text_but_a_reason() -> None:
    assert read_file(pdf(words("a")), PDF, deadline_s=0) == FileText(
        limit="not parsed within 0 s of processor time"
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(UsageError, match=r"minicrawl\[pdf\]"):
        read_file(b"", PDF)
