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
from minicrawl.errors import UsageError
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.changes import changes
from minicrawl.states import State
from tests.cli.calls import Captured, as_json, printed
from tests.stores import HandCrawl
from tests.webs import crawl_web

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


def what_happened(
    path: Path, since: float | None = None, host: str | None = None
) -> dict[str, str]:
    with snapshot(path) as seen:
        return {change.url: change.what for change in changes(seen, since, host)}


def test_each_page_has_one_row_and_pages_that_came_and_went_have_none(
    crawled: tuple[Path, float],
) -> None:
    path, since = crawled
    assert what_happened(path, since) == {
        HOME: "changed",
        EDITED: "changed",
        FRESH: "new",
        ELSEWHERE: "new",
        OLD: "moved",
        GONE: "gone",
        DOWN: "failed",
        SHUT: "refused",
    }
    assert what_happened(path, since, "b.example") == {ELSEWHERE: "new"}
    with pytest.raises(UsageError, match=r"c\.example"):
        what_happened(path, since, "c.example")


def test_changes_are_sorted_by_importance(crawled: tuple[Path, float]) -> None:
    path, since = crawled
    with snapshot(path) as seen:
        shares = [change.importance for change in changes(seen, since)]
    assert shares == sorted(shares, reverse=True)
    assert len(set(shares)) > 1


def test_an_export_since_a_time_has_new_and_changed_pages(
    crawled: tuple[Path, float], capsys: Captured
) -> None:
    path, since = crawled
    for moment, urls in ((since, {HOME, EDITED, FRESH, ELSEWHERE}), (since + 3600, set[str]())):
        day = datetime.fromtimestamp(moment, UTC).isoformat()
        export = ("export", "-", "--format", "jsonl", "--since", day, "--store", path)
        rows = printed(capsys, *export).splitlines()
        assert {json.loads(row)["url"] for row in rows} == urls


def test_the_command_prints_a_table_csv_or_json(
    crawled: tuple[Path, float], capsys: Captured
) -> None:
    asked = (capsys, "changes", "--store", crawled[0], "--since")
    since = (*asked, "2027-01-15T08:00:08.5")
    columns = "importance what at status old_words new_words url title"
    headings, *rows = printed(*since).splitlines()
    assert headings.split() == columns.split()
    assert any("changed" in row for row in rows)
    found = csv.DictReader(io.StringIO(printed(*since, "--csv")))
    assert {row["what"] for row in found} == set(what_happened(*crawled).values())
    (row,) = as_json(*since, "--n", "1")
    assert row["at"].startswith("2027-01-15T08:00:")
    before_the_epoch = as_json(*asked, "40000d")
    assert {row["what"] for row in before_the_epoch} == {"new"}
    assert printed(*asked, "2027-01-15", "--exit-code", code=1)
    assert printed(*asked, "2028-01-15", "--exit-code").endswith("none\n")


Web = Callable[[int, str], str | None]
"""Markup of a page on a day, by its path."""


def crawled_twice(path: Path, web: Web, **chosen: Any) -> float:
    """Crawl a web on two days, and return a time in between."""
    day = 1

    def answer(request: httpx.Request) -> httpx.Response:
        markup = web(day, request.url.path)
        return httpx.Response(404) if markup is None else httpx.Response(200, html=markup)

    crawl_web(path, answer, [SITE], refresh=0.5, **chosen)
    day, since = 2, time.time()
    crawl_web(path, answer, [], refresh=0.5, **chosen)
    return since


def other_markup(day: int, path: str) -> str | None:
    """Pages that differ every day: one in its words, the others only in their markup."""
    return {
        "/": f'<!-- day {day} --><a href="/word">A</a> <a href="/session">B</a>'
        f'<a href="/style">C</a> <script>var day = {day};</script>',
        "/word": f"<p>{'many words ' * day}in all",
        "/session": f'<p>Always the same. <a href="/?sid={day:032}">Home</a>',
        "/style": f'<p class="day-{day}"   id=d{day}>Always\n{" " * day}this.',
    }.get(path)


@pytest.mark.parametrize("keep", ["pages", "text", "none"])
def test_a_page_has_changed_if_its_text_has(path: Path, keep: str) -> None:
    since = crawled_twice(path, other_markup, keep=keep)
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


def test_a_diff_has_the_words_that_went_and_came(path: Path, capsys: Captured) -> None:
    day = datetime.fromtimestamp(crawled_twice(path, other_markup, keep="text"), UTC).isoformat()
    options = ("--diff", "--store", path, "--since", day)
    (row,) = as_json(capsys, "changes", *options)
    assert (row["url"], row["diff"]) == (f"{SITE}/word", "many words {+many words+} in all")
    assert f"{SITE}/word\n  {row['diff']}\n" in printed(capsys, "changes", *options)
    html = printed(capsys, "changes", *options, "--html")
    assert "many words <ins>many words</ins> in all" in html


_STORY = "<p>" + "The river rose by a metre in the night, and the mill stands in water. " * 9


def other_menu(day: int, path: str) -> str | None:
    """Pages whose menu changes every day; the story of one of them changes, too."""
    menu = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("steady", "edited", "bare"))
    stories = {
        "/": _STORY,
        "/steady": _STORY,
        "/edited": f"{_STORY}<p>{'It fell again, so the miller says. ' * day}",
        "/bare": "",  # nothing but the menu
    }
    if path not in stories:
        return None
    return f"<nav>{menu}<li>{'another item ' * day}</nav><main>{stories[path]}</main>"


@pytest.mark.parametrize("has_text_room", [True, False])
def test_a_changed_menu_counts_only_without_the_main_text(
    has_text_room: bool, path: Path, without_rooms: Callable[[], None]
) -> None:
    since = crawled_twice(path, other_menu)
    if has_text_room:
        if "main" not in ext.entry_points(ext.PARSERS):
            pytest.skip("no room that extracts the main text")
        assert what_happened(path, since) == {EDITED: "changed", f"{SITE}/bare": "changed"}
        assert what_happened(path) == what_happened(path, since)
        return
    without_rooms()
    assert set(what_happened(path, since)) == {HOME, STEADY, EDITED, f"{SITE}/bare"}
