"""Writes main texts as a WET file: a WARC of `conversion` records, as Common Crawl publishes.

Each record is a gzip member with the text of one page, so tools for WET files, and any reader of
WARC, read it. Pages without a main text are left out.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from typing import BinaryIO

from minicrawl.archive.warc.writer import WarcWriter
from minicrawl.report.selected_pages import Block


class WetFormat:
    """Format of WET files, for `minicrawl.exporters`."""

    contents = ("main",)

    def __call__(self, blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str]) -> int:
        """Write the pages of these blocks that have a main text, and return their number."""
        written = 0
        writer = WarcWriter(file.write, "pages.wet.gz")
        remaining = iter(blocks)
        first = next(remaining, None)
        # The latest time of the first block, so that repeated exports are equal.
        dates = filter(None, () if first is None else first["last_fetched"])
        writer.begin(datetime.fromisoformat(max(dates, default="1970-01-01T00:00:00Z")).timestamp())
        for block in chain(() if first is None else (first,), remaining):
            for url, date, text in zip(
                block["url"], block["last_fetched"], block["main"], strict=True
            ):
                if text:
                    writer.add_text(url, date, text)
                    written += 1
        return written


WET = WetFormat()
