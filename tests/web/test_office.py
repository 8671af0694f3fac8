"""Office documents and books: their text in reading order, their links, and what limits cut."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

import pytest

from minicrawl.web.documents import office
from minicrawl.web.documents.document import reader_of
from minicrawl.web.documents.office import parse_office
from minicrawl.web.responses.types import ALL, DocumentType, is_wanted, type_of
from tests.web.office_files import LINK, RELATIONSHIPS, WORD, docx, packed

MIB = 1 << 20


def test_a_document_has_its_paragraphs_its_title_and_links_to_the_web() -> None:
    links = {"the list": "https://example.org/ships", "below": "#part", "mail": "mailto:a@b.c"}
    document = parse_office(docx("Of the harbour", "Ships are moored.", title="Rules", links=links))
    assert document.title == "Rules"
    assert document.lines == ("Of the harbour", "Ships are moored.", *links)
    assert document.links == ("https://example.org/ships",)
    assert parse_office(docx("First line")).title == "First line"


def test_fields_are_links_and_deleted_or_doubled_text_is_left_out() -> None:
    body = (
        '<w:p><w:r><w:instrText> HYPERLINK "https://example.org/a" </w:instrText></w:r>'
        "<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r></w:p>"
        '<w:p><w:fldSimple w:instr="HYPERLINK &quot;https://example.org/b&quot;"/>'
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<mc><Choice><w:p><w:r><w:t>box</w:t></w:r></w:p></Choice>"
        "<Fallback><w:p><w:r><w:t>box</w:t></w:r></w:p></Fallback></mc></w:p>"
    )
    document = parse_office(packed({"word/document.xml": WORD.format(body)}))
    assert document.lines == ("a b", "c", "box")
    assert document.links == ("https://example.org/a", "https://example.org/b")


def test_fields_that_are_no_links_or_too_long_for_one_are_passed_over() -> None:
    long = "x" * 9000
    body = (
        '<w:p><w:fldSimple w:instr="PAGE"/><w:r><w:instrText> HYPERLINK "http://a.example/'
        f'{long}" </w:instrText><w:instrText>{long}</w:instrText><w:t>a</w:t></w:r></w:p>'
        f"<w:p>{'<w:r> </w:r>' * 9000}</w:p>"
    )
    document = parse_office(packed({"word/document.xml": WORD.format(body)}))
    assert (document.lines, document.links) == (("a",), ())


def test_a_document_of_another_name_is_read_with_its_notes_after_it() -> None:
    line = "<w:p><w:r><w:t>{}</w:t><w:noBreakHyphen/><w:t>b</w:t></w:r></w:p>"
    related = '<Relationship Type="http://purl.oclc.org/ooxml/relationships/{}" Target="{}"/>'
    parts = {
        "_rels/.rels": RELATIONSHIPS.format(
            related.format("officeDocument", "/word/document2.xml")
        ),
        "word/document2.xml": WORD.format(line.format("text")),
        "word/_rels/document2.xml.rels": RELATIONSHIPS.format(
            related.format("endnotes", "end.xml") + related.format("footnotes", "foot.xml")
        ),
        "word/end.xml": WORD.format(line.format("endnote")),
        "word/foot.xml": WORD.format(line.format("footnote")),
    }
    assert parse_office(packed(parts)).lines == ("text-b", "footnote-b", "endnote-b")


def test_files_of_two_types_have_a_reader() -> None:
    kinds = [kind for kind in DocumentType if reader_of(kind)]
    assert kinds == [DocumentType.PDF, DocumentType.OFFICE]
    assert reader_of(None) is None
    read = reader_of(DocumentType.OFFICE)
    assert read is not None
    assert read(docx("One")).lines == ("One",)


def test_slides_come_in_the_order_of_the_presentation() -> None:
    run = "<a:p><a:r><a:rPr>{}</a:rPr><a:t>{}</a:t></a:r></a:p>"
    slide = f'<s xmlns:a="urn:a" xmlns:r="urn:r">{run}</s>'
    show = '<p xmlns:r="urn:r"><sldId id="256" r:id="two"/><sldId id="257" r:id="one"/></p>'
    parts = {
        "ppt/presentation.xml": show,
        "ppt/_rels/presentation.xml.rels": RELATIONSHIPS.format(
            LINK.format("one", "slides/slide1.xml") + LINK.format("two", "/ppt/slides/slide2.xml")
        ),
        "ppt/slides/slide1.xml": slide.format('<a:hlinkClick r:id="x"/>', "One"),
        "ppt/slides/_rels/slide1.xml.rels": RELATIONSHIPS.format(LINK.format("x", "http://a.b/")),
        "ppt/slides/slide2.xml": slide.format("", "Two"),
    }
    document = parse_office(packed(parts))
    assert (document.lines, document.links) == (("Two", "One"), ("http://a.b/",))


def test_open_documents_have_lines_without_comments_and_tracked_deletions() -> None:
    content = (
        '<c xmlns:t="urn:t" xmlns:x="urn:x"><t:tracked-changes><t:p>old</t:p></t:tracked-changes>'
        "<t:h>Tides</t:h><t:p>High<t:s/>water at <t:a x:href='https://example.org/q'>the quay</t:a>"
        "<t:line-break/>next<annotation><t:p>a comment</t:p></annotation></t:p></c>"
    )
    meta = '<m xmlns:dc="urn:dc"><dc:title>Tide tables</dc:title></m>'
    document = parse_office(packed({"content.xml": content, "meta.xml": meta}))
    assert document.lines == ("Tides", "High water at the quay", "next")
    assert (document.title, document.links) == ("Tide tables", ("https://example.org/q",))


def test_a_note_of_an_open_document_follows_the_paragraph_that_it_stands_in() -> None:
    content = (
        "<c><p>High water<note><note-citation>1</note-citation><note-body><p>At springs.</p>"
        "<p>See below.</p></note-body></note> is at noon.</p><p>Next</p></c>"
    )
    document = parse_office(packed({"content.xml": content}))
    assert document.lines == ("High water is at noon.", "At springs.", "See below.", "Next")


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_chapters_are_read_in_the_encoding_that_they_declare(encoding: str) -> None:
    chapter = f'<?xml version="1.0" encoding="{encoding}"?><html><body>Größe</body></html>'
    parts: dict[str, str | bytes] = {
        "META-INF/container.xml": '<c><rootfile full-path="b"/></c>',
        "b": '<p><item id="a" href="c"/><itemref idref="a"/></p>',
        "c": chapter.encode(encoding),
    }
    assert parse_office(packed(parts)).lines == ("Größe",)


def test_chapters_come_in_the_order_of_the_spine() -> None:
    parts = {
        "META-INF/container.xml": '<c><rootfile full-path="E/book.opf"/></c>',
        "E/book.opf": '<p xmlns:dc="urn:dc"><dc:title>Sea stories</dc:title><item id="a" '
        'href="one%20.xhtml"/><item id="b" href="two.xhtml"/><itemref idref="b"/>'
        '<itemref idref="a"/><itemref idref="lost"/></p>',
        "E/one .xhtml": "<html><head><title>1</title></head><body><h1>One</h1><p>left&nbsp;at<br/>"
        "dawn <a href='https://example.org/one'>more</a><script>x</script></p></body></html>",
        "E/two.xhtml": "<html><body><ul><li>salt</li><li>wind</li></ul></body></html>",
    }
    book = parse_office(packed(parts))
    assert book.lines == ("salt", "wind", "One", "left at", "dawn more")
    assert (book.title, book.links) == ("Sea stories", ("https://example.org/one",))


def bombs() -> Iterator[tuple[str, bytes]]:
    yield "MB of a file are unpacked", docx("a" * (2 * MIB))
    yield "characters of a file are read", docx(*["abc"] * 1000)
    links = "".join(f'<p><a href="http://a.example/{number}">x</a></p>' for number in range(200))
    yield "links of a file are read", packed({"content.xml": f"<c>{links}</c>"})
    tables = WORD.format("<w:tbl>" * 1000 + "a" + "</w:tbl>" * 1000)
    yield "nested too deeply", packed({"word/document.xml": tables})


@pytest.mark.parametrize(("limit", "file"), bombs())
def test_bombs_end_at_a_limit_that_is_named(
    limit: str, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office, "MOST_BYTES", MIB)
    monkeypatch.setattr(office, "MOST_CHARS", 2000)
    monkeypatch.setattr(office, "_MOST_LINKS", 100)
    assert limit in parse_office(file).limit


def test_entities_neither_open_files_nor_grow_without_bound() -> None:
    names = "abcdefghij"
    grow = "".join(f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in pairwise(names))
    declared = (
        f'<!DOCTYPE d [<!ENTITY a "0123456789">{grow}<!ENTITY f SYSTEM "file:///etc/passwd">]>'
    )
    body = "<w:p><w:t>&j;</w:t></w:p><w:p><w:t>&f;end</w:t></w:p>"
    document = parse_office(packed({"word/document.xml": declared + WORD.format(body)}))
    text = "".join(document.lines)
    assert "root" not in text
    assert len(text) < MIB


@pytest.mark.parametrize(
    "file", [b"", b"PK\3\4", docx("a")[:-30], packed({"a": "b"}), packed({"content.xml": "<a"})]
)
def test_what_is_no_document_has_no_text(file: bytes) -> None:
    document = parse_office(file)
    assert (document.title, document.links, document.lines) == ("", (), ())


def test_damaged_files_are_read_as_far_as_they_go() -> None:
    rng, whole = Random(1), docx(*map(str, range(99)), title="t", links={"a": "http://a.example/"})
    for _ in range(300):
        file = bytearray(whole)
        for _ in range(rng.randrange(1, 30)):
            file[rng.randrange(len(file))] = rng.randrange(256)
        parse_office(bytes(file))


@pytest.mark.parametrize(
    ("content_type", "url", "is_office"),
    [
        ("application/epub+zip", "http://a.example/book", True),
        ("application/zip", "http://a.example/a.docx", True),
        ("application/octet-stream", "http://a.example/a.ODT?v=1", True),
        ("", "http://a.example/a.pptx", True),
        ("application/zip", "http://a.example/a.zip", False),
        ("application/octet-stream", "http://a.example/docx", False),
    ],
)
def test_an_archive_is_a_document_by_its_type_or_the_ending_of_its_url(
    content_type: str, url: str, is_office: bool
) -> None:
    kind = DocumentType.OFFICE if is_office else None
    assert type_of(content_type, url, docx("a"), ALL) is kind
    assert is_wanted(content_type, url, ALL) is not (not is_office)
