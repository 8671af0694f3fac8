import sys
from typing import Any

import pytest

from minicrawl.web.documents import pdf as reader
from minicrawl.web.documents.document import MOST_CHARS, FileText
from tests.web.pdfs import pdf, pdf_of, words


def test_title_lines_and_links_are_read() -> None:
    found = reader.parse_pdf(
        pdf(words("First line", "see http://a.example/text"), title="The title", links=["/area"])
    )
    assert found.title == "The title"
    assert found.lines == ("First line", "see http://a.example/text")
    assert found.links == ("/area", "http://a.example/text")
    assert found.limit == ""


def test_without_a_title_the_first_line_is_the_title() -> None:
    assert reader.parse_pdf(pdf(words("First line"), words("Second page"))).title == "First line"


def test_a_mail_address_and_other_actions_are_no_links() -> None:
    script = b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/JavaScript/JS(app.alert(1))>>>>"
    found = reader.parse_pdf(pdf(words("a@a.example"), annotations=script))
    assert found.links == ()


def test_a_link_that_is_too_long_is_left_out() -> None:
    found = reader.parse_pdf(pdf(words("a"), links=[f"http://a.example/{'a' * 9000}", "/b"]))
    assert found.links == ("/b",)


@pytest.mark.parametrize("body", [b"", b"%PDF-1.7", b"%PDF-1.7" + b"<<" * 1000, b"\xff" * 100])
def test_a_malformed_file_yields_only_the_reason(body: bytes) -> None:
    found = reader.parse_pdf(body)
    assert found.limit
    assert found == FileText(limit=found.limit)


def test_broken_pages_are_left_out() -> None:
    whole = pdf(words("one"))
    found = reader.parse_pdf(whole.replace(b"/Kids[4 0 R]/Count 1", b"/Kids[4 0 R]/Count 9"))
    assert found.lines == ("one",)
    assert "not all pages" in found.limit
    broken = reader.parse_pdf(
        pdf_of([b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[9 0 R]/Count 1>>"])
    )
    assert broken.lines == ()


def test_pages_are_limited() -> None:
    found = reader.parse_pdf(pdf(*map(words, map(str, range(reader.MOST_PAGES + 1)))))
    assert found.lines == tuple(map(str, range(reader.MOST_PAGES)))
    assert f"{reader.MOST_PAGES:,} pages" in found.limit


@pytest.mark.slow
def test_characters_are_limited() -> None:
    found = reader.parse_pdf(pdf(*[words("a" * 4000)] * (MOST_CHARS // 4000 + 2)))
    assert len("".join(found.lines)) == MOST_CHARS
    assert f"{MOST_CHARS:,} characters" in found.limit


def test_pages_without_text_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    import pypdfium2

    def refuse(*_: object) -> Any:
        raise pypdfium2.PdfiumError("no")

    file = pdf(words("one"))
    monkeypatch.setattr(pypdfium2.PdfPage, "get_textpage", refuse)
    assert "not all pages" in reader.parse_pdf(file).limit


def test_a_page_whose_urls_cannot_be_loaded_has_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdfium2 import raw

    monkeypatch.setattr(raw, "FPDFLink_LoadWebLinks", lambda _: None)
    assert reader.parse_pdf(pdf(words("http://a.example/"))).links == ()


def test_an_empty_page_is_read() -> None:
    assert reader.parse_pdf(pdf(b"")) == FileText()


def test_links_of_a_page_are_limited() -> None:
    links = [f"/{number}" for number in range(2009)]
    assert reader.parse_pdf(pdf(words("a"), links=links)).links == tuple(links[:2000])


def test_can_read_pdf_does_not_load_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert reader.can_read_pdf()
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert not reader.can_read_pdf()
