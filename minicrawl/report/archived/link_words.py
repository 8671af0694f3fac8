"""Words in and around links, from the last archived version of each page.

Laws: the context of a link is 50 characters on either side. A page whose archived version is
damaged, or lacks markup, has no words.
"""

from collections.abc import Iterator, Sequence

from minicrawl.archive.record import RecordKind
from minicrawl.report.archived.page_versions import kept_pages, readable_version
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import tables
from minicrawl.web.responses.types import DocumentType

WITH_WORDS = int(DocumentType.HTML | DocumentType.MARKDOWN)
"""Types of documents whose links have words."""


def words_of_links(snapshot: Snapshot, urls: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the links of kept pages: index of the page, target, and the words in and around it."""
    if tables.archive_end(snapshot.connection) is None:
        return
    from minicrawl.web.documents.document import parse_document
    from minicrawl.web.html.scanner import ParseOptions

    options = ParseOptions(with_words=True, strip_marks=snapshot.frontier.terms.strip_marks)
    with kept_pages(snapshot) as archive:
        for source, url in enumerate(urls):
            version = readable_version(archive, url)
            if version is not None and version.answer.kind is not RecordKind.TEXT:
                answer = version.answer
                page = parse_document(answer.body, url, answer.headers, options, types=WITH_WORDS)
                for target, words in zip(page.links, page.words, strict=True):
                    yield source, target, words
