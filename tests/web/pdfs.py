"""Minimal PDF files for tests."""

from collections.abc import Sequence

FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def pdf_of(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Return a file of these objects; the first one is its root."""
    file, places = bytearray(b"%PDF-1.7\n"), []
    for number, one in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%b\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start, size = len(file), len(objects) + 1
    file += b"xref\n0 %d\n0000000000 65535 f \n%b" % (size, table)
    file += b"trailer\n<</Size %d/Root 1 0 R%b>>\nstartxref\n%d\n%%%%EOF" % (size, trailer, start)
    return bytes(file)


def stream(content: bytes, more: bytes = b"") -> bytes:
    return b"<</Length %d%b>>stream\n%b\nendstream" % (len(content), more, content)


def words(*lines: str) -> bytes:
    drawn = b"".join(
        b"1 0 0 1 50 %d Tm (%b) Tj " % (700 - 20 * number, line.encode())
        for number, line in enumerate(lines)
    )
    return b"BT /F 12 Tf %bET" % drawn


def pdf(
    *contents: bytes, title: str = "", links: Sequence[str] = (), annotations: bytes = b""
) -> bytes:
    """Return a file with these pages; every page has an area for each link."""
    areas = b"".join(
        b"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI(%b)>>>>" % link.encode()
        for link in links
    )
    of_pages = range(4, 4 + 2 * len(contents), 2)
    kids = b" ".join(b"%d 0 R" % page for page in of_pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%b]/Count %d>>" % (kids, len(contents)),
        FONT,
    ]
    for page, content in zip(of_pages, contents, strict=True):
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents %d 0 R"
            b"/Resources<</Font<</F 3 0 R>>>>/Annots[%b%b]>>" % (page + 1, areas, annotations)
        )
        objects.append(content if content.endswith(b"endstream") else stream(content))
    objects.append(b"<</Title(%b)>>" % title.encode("latin-1"))
    return pdf_of(objects, b"/Info %d 0 R" % len(objects) if title else b"")


def _nested(depth: int) -> bytes:
    """Return a page that draws a form twice, which draws a form twice, and so on."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[4 0 R]/Count 1>>",
        FONT,
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 5 0 R"
        b"/Resources<</XObject<</X 6 0 R>>>>>>",
        stream(b"/X Do"),
    ]
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 900 900]/Resources<</Font<</F 3 0 R>>"
    objects += [
        stream(b"/X Do /X Do", form + b"/XObject<</X %d 0 R>>>>" % (number + 1))
        for number in range(6, 6 + depth)
    ]
    return pdf_of([*objects, stream(words("a" * 20), form + b">>")])


BOMB = _nested(30)
"""Some kilobytes that expand to a billion words on a page."""
