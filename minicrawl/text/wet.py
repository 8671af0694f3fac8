"""Writes the main text of pages as a WET file: a WARC of `conversion` records, as Common Crawl has.

Each record is a gzip member with the text of one page, so tools for WET files, and any reader of
WARC, read it. Pages without a main text are left out.
"""

import time
from collections.abc import Iterable, Sequence
from typing import BinaryIO

from minicrawl.archive.warc import WarcWriter
from minicrawl.report.selected_pages import Block


class WetFormat:
    """The format, for `minicrawl.exporters`."""

    contents = ("main",)

    def __call__(self, blocks: Iterable[Block], file: BinaryIO, columns: Sequence[str]) -> None:
        """Write the pages of these blocks."""
        writer = WarcWriter(file, "pages.wet.gz")
        writer.begin(time.time())
        for block in blocks:
            for url, date, text in zip(
                block["url"], block["last_fetched"], block["main"], strict=True
            ):
                if text:
                    writer.add_text(url, date, text)


WET = WetFormat()
