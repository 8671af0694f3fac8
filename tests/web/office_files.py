"""Small office documents and books, as other programs write them."""

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

WORD = '<w:document xmlns:w="urn:w" xmlns:r="urn:r"><w:body>{}</w:body></w:document>'
RELATIONSHIPS = "<Relationships>{}</Relationships>"
LINK = '<Relationship Id="{}" Target="{}"/>'


def packed(parts: Mapping[str, str | bytes]) -> bytes:
    """Return the archive with these parts."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def docx(*lines: str, title: str = "", links: Mapping[str, str] | None = None) -> bytes:
    """Return a document with these lines, and links by words."""
    targets = {f"rId{number}": url for number, url in enumerate((links or {}).values())}
    paragraphs = [f"<w:p><w:r><w:t>{line}</w:t></w:r></w:p>" for line in lines]
    paragraphs += [
        f'<w:p><w:hyperlink r:id="{name}"><w:r><w:t>{words}</w:t></w:r></w:hyperlink></w:p>'
        for name, words in zip(targets, links or {}, strict=True)
    ]
    rows = "".join(LINK.format(name, url) for name, url in targets.items())
    return packed(
        {
            "word/document.xml": WORD.format("".join(paragraphs)),
            "word/_rels/document.xml.rels": RELATIONSHIPS.format(rows),
            "docProps/core.xml": f'<c xmlns:dc="urn:dc"><dc:title>{title}</dc:title></c>',
        }
    )
