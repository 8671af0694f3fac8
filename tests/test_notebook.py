"""Progress of a crawl in a notebook: one display, updated in place."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from minicrawl import Asked, Crawl, Ended, Progress, Reason, Settings
from minicrawl.notebook import SHOWN_EVERY_S, NotebookDisplay

PROGRESS = Progress(
    known=12,
    unread=11,
    fetched=1,
    requests=2,
    failed=0,
    wire_bytes=0,
    hosts=1,
    running_s=3.0,
    turns_of_cash=1.0,
    importance_gathered=0.25,
)


def test_the_display_is_updated_at_intervals_and_at_the_end() -> None:
    screen, times = Mock(), [0.0]
    display = NotebookDisplay(lambda: PROGRESS, screen, lambda: times[0])
    for _ in range(3):
        display.hear(Asked(url="http://a.example/<b>", cash=1.0))
    times[0] = SHOWN_EVERY_S
    display.hear(Asked(url="http://a.example/last", cash=1.0))
    display.hear(Ended(reason=Reason.BUDGET))
    first, second, end = (call.args[0] for call in screen.return_value.update.call_args_list)
    assert all(number in repr(first) for number in ("1 page", "12 pages", "25.0%"))
    assert "http://a.example/&lt;b&gt;" in first._repr_html_()
    assert repr(second).endswith("http://a.example/last")
    assert str(Reason.BUDGET) in repr(end)
    assert "25.0%" in repr(end)


def test_a_notebook_shows_a_crawl_below_its_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    web = httpx.MockTransport(lambda _: httpx.Response(200, html="<title>A</title>"))
    settings = Settings.of(delay=0, store=tmp_path / "crawl.db")
    crawl = Crawl(["http://a.example/"], settings, transport=web)
    InteractiveShell.instance()
    try:
        with capture_output() as captured:
            reason = asyncio.run(crawl.run_async(show=True))
    finally:
        InteractiveShell.clear_instance()
    assert reason is Reason.EMPTY
    first, *_, last = (output.data["text/html"] for output in captured.outputs)
    assert str(Reason.EMPTY) in last
    assert str(Reason.EMPTY) not in first
