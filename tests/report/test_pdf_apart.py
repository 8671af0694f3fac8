"""A kept PDF is parsed in a separate process that can be killed."""

import sys

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.archived.pdf_reader import read_pdf
from minicrawl.web.documents.pdf import PdfText, parse_pdf
from tests.web.pdfs import BOMB, pdf, words

GENEROUS_S = 250.0


def test_the_process_returns_the_result_of_the_parser() -> None:
    file = pdf(words("One", "Two"), title="\u00fc", links=["/a"])
    assert read_pdf(file) == parse_pdf(file) == PdfText("\u00fc", ("/a",), ("One", "Two"))


@pytest.mark.slow
def test_a_file_that_crashes_the_process_has_no_text_but_a_reason() -> None:
    assert read_pdf(BOMB, deadline_s=GENEROUS_S) == PdfText(limit="the parser process ended")


def test_a_file_that_takes_too_long_has_no_text_but_a_reason() -> None:
    assert read_pdf(pdf(words("a")), deadline_s=0) == PdfText(
        limit="not parsed within 0 s of processor time"
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(UsageError, match=r"minicrawl\[pdf\]"):
        read_pdf(b"")
