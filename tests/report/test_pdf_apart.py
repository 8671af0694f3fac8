"""A PDF that was kept is read in a process that can be killed."""

import pytest

from minicrawl.errors import UsageError
from minicrawl.report.page_texts import read_pdf
from minicrawl.web import documents as reader
from minicrawl.web.documents import PdfText
from tests.web.pdfs import BOMB, pdf, words

FOR_EVER_S = 250.0


def test_what_a_file_says_is_what_its_reader_says() -> None:
    file = pdf(words("One", "Two"), title="\u00fc", links=["/a"])
    assert read_pdf(file) == reader.parse_pdf(file) == PdfText("\u00fc", ("/a",), ("One", "Two"))


def test_a_file_that_ends_its_process_says_nothing_and_why() -> None:
    assert read_pdf(BOMB, deadline_s=FOR_EVER_S) == PdfText(limit="the parser process ended")


def test_a_file_that_takes_too_long_says_nothing_and_why() -> None:
    assert read_pdf(pdf(words("a")), deadline_s=0) == PdfText(limit="not parsed within 0 s")


def test_without_the_package_the_user_hears_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"minicrawl\[pdf\]"):
        read_pdf(b"")
