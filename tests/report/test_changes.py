"""Pages that are new, have changed or are gone since a given time."""

import csv
import io
import json
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from minicrawl import ext
from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.report.page_states import changes
from minicrawl.report.snapshot import snapshot
from tests.stores import HandCrawl
from tests.webs import crawl_web

Captured = pytest.CaptureFixture[str]

SITE = "http://a.example"
HOME, STEADY, EDITED, OLD, GONE, DOWN, SHUT, FRESH, BRIEF = (
    f"{SITE}/{name}"
    for name in ("", "steady", "edited", "old", "gone", "down", "shut", "fresh", "brief")
)
ELSEWHERE = "http://b.example/"
EARLIER = (HOME, STEADY, EDITED, OLD, GONE, DOWN, SHUT)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return a store and a time between its two crawls."""
    path = tmp_path_factory.mktemp("changes") / "crawl.db"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([HOME], endowment=9)
        crawl.read(HOME, EARLIER[1:], title="Home")
        for url in EARLIER[1:]:
            crawl.read(url, [HOME])
        crawl.read_again(STEADY, has_changed=True)  # before `since`
        since = crawl.now + 0.5
        crawl.read_again(STEADY, has_changed=False)
        crawl.read_again(EDITED, has_changed=True)
        crawl.read_again(HOME, has_changed=True)
        crawl.read(EDITED, [FRESH, BRIEF, ELSEWHERE], title="Edited")
        crawl.batch.documents.pop()
        crawl.read(FRESH)
        crawl.read(ELSEWHERE)
        crawl.read(BRIEF)
        crawl.moved(OLD, FRESH)
        for url, state in (
            (GONE, State.NOT_FOUND),
            (DOWN, State.SERVER_ERROR),
            (SHUT, State.ROBOTS),
            (BRIEF, State.NOT_FOUND),
        ):
            crawl.ended(url, state)
    return path, since


def as_text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat()


def what_happened(
    path: Path, since: float | None = None, host: str | None = None
) -> dict[str, str]:
    with snapshot(path) as seen:
        return {change.url: change.what for change in changes(seen, since, host)}


class TestChanges:
    def test_each_page_has_one_row_and_pages_that_came_and_went_have_none(
        self, crawled: tuple[Path, float]
    ) -> None:
        assert what_happened(*crawled) == {
            HOME: "changed",
            EDITED: "changed",
            FRESH: "new",
            ELSEWHERE: "new",
            OLD: "moved",
            GONE: "gone",
            DOWN: "failed",
            SHUT: "refused",
        }

    def test_an_export_since_a_time_has_new_and_changed_pages(
        self, crawled: tuple[Path, float], capsys: Captured
    ) -> None:
        path, since = crawled
        for moment, urls in ((since, {HOME, EDITED, FRESH, ELSEWHERE}), (since + 3600, set[str]())):
            command = ["export", "-", "--format", "jsonl", "--since", as_text(moment)]
            assert main([*command, "--store", str(path)]) == 0
            rows = map(json.loads, capsys.readouterr().out.splitlines())
            assert {row["url"] for row in rows} == urls

    def test_changes_are_sorted_by_importance_and_can_be_limited_to_a_host(
        self, crawled: tuple[Path, float]
    ) -> None:
        path, since = crawled
        with snapshot(path) as seen:
            shares = [change.importance for change in changes(seen, since)]
        assert shares == sorted(shares, reverse=True)
        assert len(set(shares)) > 1
        assert what_happened(path, since, "b.example") == {ELSEWHERE: "new"}
        with pytest.raises(UsageError, match="no page of host"):
            what_happened(path, since, "c.example")


class TestCommand:
    def test_the_output_is_a_table_csv_or_json(
        self, crawled: tuple[Path, float], capsys: Captured
    ) -> None:
        path, _ = crawled
        since = ["changes", "--since", "2027-01-15T08:00:08.5", "--store", str(path)]
        assert main(since) == 0
        shown = capsys.readouterr().out
        columns = "importance what at status old_words new_words url title"
        assert shown.splitlines()[0].split() == columns.split()
        assert "changed" in shown
        assert main([*since, "--csv"]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert {row["what"] for row in rows} == set(what_happened(*crawled).values())
        assert main([*since, "--json", "--n", "1"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert row["at"].startswith("2027-01-15T08:00:")

    def test_a_duration_may_be_longer_than_the_epoch(
        self, crawled: tuple[Path, float], capsys: Captured
    ) -> None:
        path, _ = crawled
        assert main(["changes", "--since", "40000d", "--json", "--store", str(path)]) == 0
        assert {row["what"] for row in json.loads(capsys.readouterr().out)} == {"new"}

    def test_exit_code_is_1_if_something_has_changed(
        self, crawled: tuple[Path, float], capsys: Captured
    ) -> None:
        path, _ = crawled
        command = ["changes", "--exit-code", "--store", str(path), "--since"]
        assert main([*command, "2027-01-15"]) == 1
        assert main([*command, "2028-01-15"]) == 0
        assert capsys.readouterr().out.endswith("none\n")


class DailyWeb:
    """A web that may change from day to day."""

    day = 1

    def __call__(self, request: httpx.Request) -> httpx.Response:
        raise NotImplementedError


def crawled_twice(path: Path, web: DailyWeb, **chosen: Any) -> float:
    """Crawl a web on two days, and return a time in between."""
    crawl_web(path, web, [SITE], refresh=0.5, **chosen)
    web.day, since = 2, time.time()
    crawl_web(path, web, [], refresh=0.5, **chosen)
    return since


class Markup(DailyWeb):
    """Pages that differ every day: one in its words, the others only in their markup."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        day, path = self.day, request.url.path
        text = {
            "/": f'<!-- day {day} --><a href="/word">A</a> <a href="/session">B</a>'
            f'<a href="/style">C</a> <script>var day = {day};</script>',
            "/word": f"<p>{'many words ' * day}in all",
            "/session": f'<p>Always the same. <a href="/?sid={day:032}">Home</a>',
            "/style": f'<p class="day-{day}"   id=d{day}>Always\n{" " * day}this.',
        }.get(path)
        return httpx.Response(404) if text is None else httpx.Response(200, html=text)


@pytest.mark.parametrize("keep", ["pages", "text", "none"])
def test_a_page_has_changed_if_its_text_has(tmp_path: Path, keep: str) -> None:
    path = tmp_path / "crawl.db"
    since = crawled_twice(path, Markup(), keep=keep)
    with snapshot(path) as seen:
        found = {
            row.url: (row.old_words, row.new_words)
            for row in changes(seen, since)
            if row.what == "changed"
        }
    if keep == "none":
        names = ("", "word", "session", "style")
        assert found == {f"{SITE}/{name}": (None, None) for name in names}
    else:
        assert found == {f"{SITE}/word": (4, 6)}


_STORY = "<p>" + "The river rose by a metre in the night, and the mill stands in water. " * 9


class Framed(DailyWeb):
    """Pages whose menu changes every day; the story of one of them changes, too."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        menu = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("steady", "edited", "bare"))
        story = {
            "/": _STORY,
            "/steady": _STORY,
            "/edited": f"{_STORY}<p>{'It fell again, so the miller says. ' * self.day}",
            "/bare": "",  # nothing but the menu
        }.get(request.url.path)
        if story is None:
            return httpx.Response(404)
        frame = f"<nav>{menu}<li>{'another item ' * self.day}</nav>"
        return httpx.Response(200, html=f"{frame}<main>{story}</main>")


@pytest.mark.parametrize("has_text_room", [True, False])
def test_a_changed_menu_counts_only_without_the_main_text(
    has_text_room: bool, tmp_path: Path, without_rooms: Callable[[], None]
) -> None:
    path = tmp_path / "crawl.db"
    since = crawled_twice(path, Framed())
    if has_text_room:
        if "main" not in ext.entry_points(ext.PARSERS):
            pytest.skip("no room that extracts the main text")
        assert what_happened(path, since) == {EDITED: "changed", f"{SITE}/bare": "changed"}
        assert what_happened(path) == what_happened(path, since)
        return
    without_rooms()
    assert set(what_happened(path, since)) == {HOME, STEADY, EDITED, f"{SITE}/bare"}
