"""The card of a data set: what it has, under which terms, and how it was made."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minicrawl.report.files.content_columns import CONTENTS
from minicrawl.wording import iso, visible

_SOURCES = "robots.txt, headers and markup, in tdmrep.json, RSL and licences."
_FEWER_SOURCES = (
    "robots.txt, headers, markup and licences. tdmrep.json and RSL files were not requested, as "
    "the crawl had no `--obey-usage`: pages that they reserve count as `allow` or `unset`."
)


def card(manifest: Mapping[str, Any]) -> str:
    """Return the data card in Markdown, for people and for the hub of Hugging Face."""
    files = [file for file in manifest["files"] if file["name"].startswith("pages")]
    rows, name = manifest["rows"], visible(manifest["store"])
    suffix = files[0]["name"].partition(".")[2]
    data_files = f'  data_files: "pages-*.{suffix}"'
    head = "\n".join(("---", "configs:", "- config_name: default", data_files, "---"))
    parts = [head, f"# Pages of {name}", _summary(manifest, rows)]
    if manifest["columns"]:
        meanings = (
            (column, f": {CONTENTS[column].means}" if column in CONTENTS else "")
            for column in manifest["columns"]
        )
        lines = "\n".join(f"- `{column}`{meaning}" for column, meaning in meanings)
        parts += ["## Columns", lines]
    if manifest["usage"] is not None:
        sources = _SOURCES if has_usage_files(manifest["settings"]) else _FEWER_SOURCES
        parts += [
            "## Permitted uses",
            f"Pages by what their sites say in {sources} "
            "`unset` means that the site says nothing; that is no permission.",
            _table(
                ("use", "allow", "deny", "unset"),
                ((purpose, *counts.values()) for purpose, counts in manifest["usage"].items()),
            ),
        ]
    columns = ("name", "rows", "bytes", "sha256")
    table = ([file[column] for column in columns] for file in manifest["files"])
    parts += ["## Files", _table(("file", "rows", "bytes", "SHA-256"), table)]
    if suffix == "parquet":
        parts += [
            "## Read it",
            "```python\nfrom datasets import load_dataset\n\n"
            'rows = load_dataset("parquet", data_files="pages-*.parquet", split="train")\n```',
            "```sql\nSELECT count(*) FROM 'pages-*.parquet'\n```",
        ]
    settings = json.dumps(manifest["settings"], indent=1, sort_keys=True)
    parts += ["## Settings of the crawl", f"```json\n{settings}\n```"]
    return "\n\n".join(parts) + "\n"


def has_usage_files(settings: Mapping[str, object]) -> bool:
    """Return True if a crawl with these settings requests tdmrep.json and the files of RSL."""
    return settings.get("obey-usage") is not None


def _summary(manifest: Mapping[str, Any], rows: int) -> str:
    since, purpose = manifest["since"], manifest["purpose"]
    summary = f"{rows:,} rows, read until {iso(manifest['read_until'])}"
    if since is not None:
        summary += f", new or changed since {iso(since)}"
    summary += f". Made by {manifest['software']}, most important pages first."
    if purpose:
        summary += f" {manifest['denied']:,} pages are left out because their sites deny {purpose}."
    if manifest["left_out"]:
        summary += f" {manifest['left_out']:,} responses could not be read, or not in time."
    return summary


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
