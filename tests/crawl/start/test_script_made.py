"""The end of a crawl for an archive tells what looks made by scripts."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl import Crawl, Settings
from minicrawl.crawl.events import Event, Noted

SHELL = '<div id="root"></div><script src="/app.js"></script>'


@pytest.mark.parametrize(
    ("body", "archive", "notes"),
    [
        (SHELL, True, ["not rendered: 1 page that looks made by scripts (--render auto)"]),
        (SHELL, False, []),
        ("<p>nothing but text", True, []),
    ],
)
def test_pages_made_by_scripts_are_told_at_the_end(
    tmp_path: Path, body: str, archive: bool, notes: list[str]
) -> None:
    heard: list[Event] = []
    settings: dict[str, Any] = {"warc": tmp_path / "warcs"} if archive else {}
    chosen = Settings.of(store=tmp_path / "c.db", delay=0, converge=False, workers=0, **settings)
    web = httpx.MockTransport(lambda _: httpx.Response(200, html=body))
    crawl = Crawl(["http://a.example/"], chosen, transport=web)
    crawl.subscribe(heard.append)
    crawl.run()
    assert [one.text for one in heard if isinstance(one, Noted) and "rendered" in one.text] == notes
