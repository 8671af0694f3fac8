"""Contents of archived pages as columns: text, markup, links, headings and permitted uses."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from hashlib import sha256

import numpy as np

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind
from minicrawl.errors import Damaged, NoText
from minicrawl.report.archived.made_texts import MAIN, MOST_AHEAD, pages_of_site, with_texts
from minicrawl.report.archived.page_versions import PageVersion, kept_pages, last_version
from minicrawl.report.archived.usage import UsageOfPages, stated
from minicrawl.report.files.content_columns import CONTENTS, Content
from minicrawl.report.selected_pages import Block
from minicrawl.report.snapshot import Snapshot, page_of
from minicrawl.store import questions, request_log, tables
from minicrawl.web.robots.usage import PURPOSES

NO_FIELDS: Mapping[str, str] = {}
USAGE, PAGE_ID, CRAWL_ORDER, SECONDS = "usage", "page_id", "crawl_order", "seconds"
TEXT_HASH = "text_hash"
_OF_STORE = frozenset((USAGE, PAGE_ID, CRAWL_ORDER, SECONDS))
"""Columns with a value also for pages that were not kept."""
_PROCESSES = 2
"""Number of processes that extract texts; with the reading process they keep two cores busy."""
_CONTENTS_AT_ONCE = 8 << 20
"""Characters per block."""
_FRAME_OF_ITEM = 50


def with_contents(
    snapshot: Snapshot,
    blocks: Iterable[Block],
    names: Sequence[str],
    warn: Callable[[str], None],
    fields: Mapping[str, str] = NO_FIELDS,
) -> Iterator[Block]:
    """Yield the blocks with a column for each of these names, from the last version of each page.

    The values of pages that are not archived are None, and so are texts that cannot be made, whose
    pages are reported to `warn`. Blocks become smaller, because contents are large. `fields` are
    columns of their own, by name, each with its selector.
    """
    names = (*names, *fields)
    if not names:
        yield from blocks
        return
    from minicrawl.report.archived.page_texts import FIELD, PageTexts

    texts_in_columns = {name for name in names if name not in CONTENTS and name not in fields}
    texts_in_columns |= {FIELD + selector for selector in fields.values()}
    if TEXT_HASH in names and MAIN in ext.entry_points(ext.PARSERS):
        texts_in_columns.add(MAIN)
    made, of_store = sorted(texts_in_columns), _StoreColumns(snapshot, names)
    gone = tables.taken_down(tables.counters(snapshot.connection))
    warn = lru_cache(MOST_AHEAD)(warn)  # several columns of a page may lack the same text
    with kept_pages(snapshot) as archive, ExitStack() as stack:
        sample = partial(pages_of_site, snapshot, archive)
        makers = [stack.enter_context(PageTexts(made, sample)) for _ in range(_PROCESSES)]
        for block in blocks:
            start, size, contents = 0, 0, list[list[Content | None]]()
            pages = ((url, whole_version(archive, url, warn)) for url in block["url"])
            for stop, ((url, page), texts) in enumerate(with_texts(pages, makers, warn), start=1):
                of_page: dict[str, Content | None] = texts | of_store.of(url, page)
                of_page |= {name: texts[FIELD + fields[name]] for name in fields}
                for name in names:
                    if name not in of_page:
                        try:
                            of_page[name] = _content(name, page, texts)
                        except NoText as error:
                            warn(f"{url}: {error}")
                            of_page[name] = None
                row = [of_page[name] for name in names]
                if gone:
                    row = json.loads(gone.conceal_in(json.dumps(row, ensure_ascii=False)))
                contents.append(row)
                size += sum(map(_size, contents[-1]))
                if size >= _CONTENTS_AT_ONCE or stop == len(block["url"]):
                    part = {name: values[start:stop] for name, values in block.items()}
                    yield part | dict(zip(names, zip(*contents, strict=True), strict=True))
                    start, size, contents = stop, 0, []


class _StoreColumns:
    """Columns that the store knows, also of pages that were not kept."""

    def __init__(self, snapshot: Snapshot, names: Sequence[str]) -> None:
        self._snapshot, self._names = snapshot, _OF_STORE & set(names)
        self._usage = UsageOfPages(snapshot)
        self._order = np.zeros(len(snapshot) if CRAWL_ORDER in self._names else 0, dtype=np.int64)
        if len(self._order):
            read = questions.pages_by_first_reading(snapshot.connection)
            self._order[read] = np.arange(1, len(read) + 1)

    def of(self, url: str, page: PageVersion | None) -> dict[str, Content | None]:
        values: dict[str, Content | None] = {}
        if USAGE in self._names:
            preferences = self._usage.of(url, page)
            values[USAGE] = {purpose: stated(preferences.get(purpose)) for purpose in PURPOSES}
        if self._names - {USAGE}:
            number = page_of(self._snapshot, url)
            values[PAGE_ID] = number
            values[CRAWL_ORDER] = int(self._order[number]) or None if len(self._order) else None
            times = request_log.last_values(self._snapshot.connection, "elapsed_s", [number])
            values[SECONDS] = None if times[0] is None else round(times[0], 3)
        return values


def whole_version(
    archive: ArchiveReader, url: str, warn: Callable[[str], None]
) -> PageVersion | None:
    try:
        return last_version(archive, url)
    except Damaged as error:
        warn(f"{url}: {error}")
        return None


def _size(content: Content | None) -> int:
    """Return the approximate number of characters of a value, with the syntax of its items."""
    if isinstance(content, list):
        return sum(_FRAME_OF_ITEM + len(str(value)) for item in content for value in item.values())
    return len(content) if isinstance(content, str) else _FRAME_OF_ITEM


def _content(
    name: str, page: PageVersion | None, texts: Mapping[str, str | None]
) -> Content | None:
    """Return a column's value, None if only the text was archived or nothing. Raise `NoText`."""
    if name == TEXT_HASH and page is not None:
        text = texts.get(MAIN) or page.text
        return sha256(text.encode("utf-8", "replace")).hexdigest()
    if page is None or (page.answer.kind is RecordKind.TEXT and name != "text"):
        return None
    value = CONTENTS[name].value
    return None if value is None else value(page)
