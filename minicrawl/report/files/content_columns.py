"""Columns with the contents of kept pages: a row for each, with its meaning and its value.

A new column is a row here. `export --with`, `pages --columns`, their help, the types of Parquet,
data cards and the reference follow. Packages add texts, which are columns as well (`ext.PARSERS`).
"""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from minicrawl import ext
from minicrawl.web.robots.usage import PURPOSES

if TYPE_CHECKING:
    from minicrawl.report.archived.page_versions import PageVersion

Content = str | int | float | list[dict[str, object]] | dict[str, object]


class ContentColumn(NamedTuple):
    """A column: what it means, and its value for a page.

    Without `value`, more than the page is needed: see `report.archived.page_contents`.
    """

    means: str
    value: "Callable[[PageVersion], Content] | None" = None
    is_short: bool = False
    """True if it fits into a cell of a table."""
    type: str = "VARCHAR"
    """SQL type in Parquet."""


def _heading(level: int) -> ContentColumn:
    return ContentColumn(
        f"text of the first heading of level {level}; empty without one",
        lambda page: next(
            (str(heading["text"]) for heading in page.headings() if heading["level"] == level), ""
        ),
        is_short=True,
    )


_ANSWER = 'STRUCT("answer" VARCHAR, "where" VARCHAR)'
CONTENTS = {
    "text": ContentColumn("whole text, without markup", lambda page: page.text),
    "html": ContentColumn("markup, decoded", lambda page: page.markup),
    "headings": ContentColumn(
        "list of headings, each with `level` and `text`",
        lambda page: page.headings(),
        type="STRUCT(level SMALLINT, text VARCHAR)[]",
    ),
    "h1": _heading(1),
    "lang_declared": ContentColumn(
        "language of the attribute `lang`", lambda page: page.declared_language(), is_short=True
    ),
    "links": ContentColumn(
        "list of links, each with `url`, `text` and `rel`",
        lambda page: page.links(),
        type="STRUCT(url VARCHAR, text VARCHAR, rel VARCHAR)[]",
    ),
    "usage": ContentColumn(
        "`answer` (allow, deny or unset) and `where` for each purpose: " + ", ".join(PURPOSES),
        type=f"STRUCT({', '.join(f'{json.dumps(purpose)} {_ANSWER}' for purpose in PURPOSES)})",
    ),
    "page_id": ContentColumn(
        "number of the page in the store, from 0, in the order of discovery",
        is_short=True,
        type="BIGINT",
    ),
    "crawl_order": ContentColumn(
        "number of the page in the order in which pages were first read, from 1",
        is_short=True,
        type="BIGINT",
    ),
    "content_type": ContentColumn(
        "media type of the response", lambda page: page.media_type, is_short=True
    ),
    "bytes": ContentColumn(
        "length of the decoded body",
        lambda page: len(page.answer.body),
        is_short=True,
        type="BIGINT",
    ),
    "seconds": ContentColumn("duration of the last request", is_short=True, type="DOUBLE"),
    "text_hash": ContentColumn(
        "SHA-256 of the main text, or of the whole text if there is no main text", is_short=True
    ),
    "robots": ContentColumn(
        "directives of X-Robots-Tag and of meta robots", lambda page: page.robots(), is_short=True
    ),
}

NESTED = frozenset(name for name, column in CONTENTS.items() if column.type.startswith("STRUCT"))
"""Columns of lists and structs, for JSONL and Parquet alone."""

SHORT_CONTENTS = tuple(name for name, column in CONTENTS.items() if column.is_short)
"""Columns that `pages` can show, and that CSV and TSV can have."""


def content_columns() -> tuple[str, ...]:
    """Return `CONTENTS`, and the texts that packages add."""
    return (*CONTENTS, *ext.entry_points(ext.PARSERS))


RAW_TEXTS = ("end", "rel", "written")
"""Columns that only files of `export --edges --raw` have."""
