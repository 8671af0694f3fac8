"""The card of a data set: what it has, under which terms, and how it was made."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minicrawl import __version__
from minicrawl.report.files.content_columns import CONTENTS
from minicrawl.wording import iso, visible


def card(manifest: Mapping[str, Any]) -> str:
    """Return the data card in Markdown, for people and for the hub of Hugging Face."""
    files = [file for file in manifest["files"] if file["name"].startswith("pages")]
    rows, name = manifest["rows"], visible(manifest["store"])
    suffix = files[0]["name"].partition(".")[2]
    parts = [_head(suffix), f"# Pages of {name}", _summary(manifest, rows)]
    if manifest["columns"]:
        parts += ["## Columns", _columns(manifest["columns"])]
    if manifest["usage"] is not None:
        parts += [
            "## Permitted uses",
            f"Pages by what their sites say in {_usage_sources(manifest['settings'])} "
            "`unset` means that the site says nothing; that is no permission.",
            _table(
                ("use", "allow", "deny", "unset"),
                ((purpose, *said.values()) for purpose, said in manifest["usage"].items()),
            ),
        ]
    parts += [
        "## Files",
        _table(
            ("file", "rows", "bytes", "SHA-256"),
            (
                [file[name] for name in ("name", "rows", "bytes", "sha256")]
                for file in manifest["files"]
            ),
        ),
    ]
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


def _usage_sources(settings: Mapping[str, object]) -> str:
    if has_usage_files(settings):
        return "robots.txt, headers and markup, in tdmrep.json, RSL and licences."
    return (
        "robots.txt, headers, markup and licences. tdmrep.json and RSL files were not requested, "
        "as the crawl had no `--obey-usage`: pages that they reserve count as `allow` or `unset`."
    )


def _head(suffix: str) -> str:
    files = f'  data_files: "pages-*.{suffix}"'
    return "\n".join(("---", "configs:", "- config_name: default", files, "---"))


def _summary(manifest: Mapping[str, Any], rows: int) -> str:
    since, purpose = manifest["since"], manifest["purpose"]
    said = f"{rows:,} rows, read until {iso(manifest['read_until'])}"
    if since is not None:
        said += f", new or changed since {iso(since)}"
    said += f". Made by {manifest['software']}, most important pages first."
    if purpose:
        said += f" {manifest['denied']:,} pages are left out because their sites deny {purpose}."
    if manifest["left_out"]:
        said += f" {manifest['left_out']:,} responses could not be read, or not in time."
    return said


def _columns(columns: Sequence[str]) -> str:
    said = (f": {CONTENTS[column].means}" if column in CONTENTS else "" for column in columns)
    return "\n".join(
        f"- `{column}`{meaning}" for column, meaning in zip(columns, said, strict=True)
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def software() -> str:
    """Return the name and version of the program."""
    return f"minicrawl {__version__}"
