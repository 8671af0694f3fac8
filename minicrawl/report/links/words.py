"""The words in and around links, from the last version of each page in the archive.

Law: what is around a link are the 50 characters on either side, as `crawl --focus-words` sees them.
A page that was not kept with its markup, or is damaged, says nothing of its links.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer, RecordKind
from minicrawl.errors import Damaged
from minicrawl.report.archived.pages import kept_pages, last_version
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables
from minicrawl.web.documents.document import parse_document
from minicrawl.web.documents.kinds import DocumentType
from minicrawl.web.html.page import ParseOptions

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""The types of documents whose links have words."""


class LinkWords(NamedTuple):
    """A link of a page."""

    source: int
    """The place of the page among those that were asked for."""
    target: str
    words: str


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[LinkWords]:
    """All links of these pages; none if no page is kept."""
    if tables.archive_end(snapshot.connection) is None:
        return
    options = ParseOptions(with_words=True, strip_marks=snapshot.frontier.terms.strip_marks)
    with kept_pages(snapshot) as archive:
        for source, url in enumerate(urls):
            if (answer := _last(archive, url)) is None:
                continue
            page = parse_document(answer.body, url, answer.headers, options, types=WITH_WORDS)
            for target, words in zip(page.links, page.words, strict=True):
                yield LinkWords(source, target, words)


def _last(archive: ArchiveReader, url: str) -> Answer | None:
    try:
        page = last_version(archive, url)
    except Damaged:  # `minicrawl check` names it
        return None
    return None if page is None or page.answer.kind is RecordKind.TEXT else page.answer
