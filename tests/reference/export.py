"""The page of export: its formats, and the columns of pages, contents and links."""

import inspect

from minicrawl import ExportRow
from minicrawl.report.files.content_columns import CONTENTS, SHORT_CONTENTS
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.rows import WRITERS, lines_of
from minicrawl.report.links.written_links import RAW_COLUMNS
from minicrawl.report.selected_pages import PAGE_LINK_COLUMNS
from tests.reference.markdown import FIELD, listed, page, prose

_TEXTS = {
    "author": "authors, separated by commas",
    "canonical": "canonical URL",
    "data": "JSON of structured data: `json-ld`, `opengraph`, `microdata` and `rdfa`",
    "description": "description",
    "image": "URL of the image that stands for the page",
    "lang": "detected language of the main text, as in ISO 639-1",
    "licence": "URL of the licence",
    "main": "main text, without menus, notices and comments",
    "markdown": "main text as Markdown",
    "modified": "date of the last change, as in ISO 8601",
    "published": "date of publication, as in ISO 8601",
    "site_name": "name of the site",
}


def export_page() -> str:
    """Describe the formats of `minicrawl export`, and the columns of pages and links."""
    columns = FIELD.findall(inspect.getsource(ExportRow))
    pages = [suffix for suffix in WRITERS if lines_of(suffix) is None]
    return page(
        "Export columns",
        f"`minicrawl export` writes pages as {listed(pages)}, and graphs as these or as "
        f"{listed(DRAWINGS)}. Columns are the same in every format and stand in this order.",
        "## Pages",
        "\n".join(
            f"- `{name}` ({prose(kind)})" + (f": {prose(comment)}" if comment else "")
            for name, kind, comment in columns
        ),
        "Each rank of `--ranks` adds a column with its scores at the end.",
        "## Contents",
        "Columns that `--with` adds, from the last kept version of each page; for .jsonl and "
        f".parquet; {listed(SHORT_CONTENTS)} also for .csv and .tsv. "
        "In Parquet, lists are lists of structs, and `usage` is a struct of structs.",
        "\n".join(f"- `{name}`: {column.means}" for name, column in CONTENTS.items()),
        "The package `minicrawl[text]` adds:",
        "\n".join(f"- `{name}`: {what}" for name, what in sorted(_TEXTS.items())),
        "## Links",
        f"A row for each pair of pages of which one links to the other, with `--edges`: "
        f"{listed(PAGE_LINK_COLUMNS)}. A page may link to itself. A redirect is no link. `end` is "
        "the final target if `target` redirects, or the original if it is a duplicate; else empty. "
        "Links that a page marks `nofollow` are not followed and have no row. The weight is 1 "
        "unless the crawl weighs links by `--weight-internal`.",
        "With `--level host`, a row is a pair of hosts, and the weight is the number of links "
        "between their pages, or within one host; there is no `end`.",
        f"With `--edges --raw`, a row for each link as the page has it, even if there are several "
        f"between two pages: {listed(RAW_COLUMNS)}.",
        "A `.graphml`, `.gexf` or `.dot` file has the same links. Its nodes have `stands_for`: "
        "the target of a redirect, or the original of a duplicate. A link to a redirect that is "
        "not among the nodes leads to the first node in the chain of redirects.",
    )
