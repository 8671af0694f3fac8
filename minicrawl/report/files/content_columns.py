"""Meanings of the content columns of an export, and which of them are raw."""

from collections.abc import Mapping
from types import MappingProxyType

from minicrawl import ext
from minicrawl.web.usage import PURPOSES

CONTENTS: Mapping[str, str] = MappingProxyType(
    {
        "text": "whole text, without markup",
        "html": "markup, decoded",
        "headings": "list of headings, each with `level` and `text`",
        "lang_declared": "language of the attribute `lang`",
        "links": "list of links, each with `url`, `text` and `rel`",
        "usage": "`answer` (allow, deny or unset) and `where` for each purpose: "
        + ", ".join(PURPOSES),
        "page_id": "number of the page in the store, from 0, in the order of discovery",
        "crawl_order": "number of the page in the order in which pages were first read, from 1",
        "content_type": "media type of the response",
        "bytes": "length of the decoded body",
        "text_hash": "SHA-256 of the main text, or of the whole text if there is no main text",
        "robots": "directives of X-Robots-Tag and of meta robots",
    }
)
"""Columns of page content, for JSONL and Parquet, and what they hold."""


def content_columns() -> tuple[str, ...]:
    """Return `CONTENTS`, and the texts that packages add."""
    return (*CONTENTS, *ext.entry_points(ext.PARSERS))


RAW_TEXTS = ("end", "rel", "written")
"""Columns that only files of `export --edges --raw` have."""
