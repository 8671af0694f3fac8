"""What a limit cut off is said with its number, host, reason and option, and is not gathered."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from minicrawl import Crawl, Settings
from minicrawl.cli.state.status import status as status_command
from minicrawl.demo.pages import MISSING, DemoResponse, document, text
from minicrawl.demo.server import DemoServer
from minicrawl.report.progress.crawl_status import status
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.cuts import Cut, cuts
from minicrawl.report.states.explanation import explain

HOST = "http://a.example"
PATHS = {"/": ["/day/1", "/a/up/up/up/up/up/b"]}


class EndlessDays:
    """Host with endless days that say nothing, and a link with a path that repeats itself."""

    def answer(
        self, _host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return text("")
        day = target.rpartition("/")[2]
        ways = PATHS.get(target, [f"/day/{int(day) + 1}"] if day.isdecimal() else [])
        links = "".join(f'<a href="{way}">on</a>' for way in ways)
        body = f"<!doctype html><title>Day {day}</title><p>Nothing on day {day}.</p>{links}"
        return document("text/html", body.encode()) if ways else MISSING


def crawl(store: Path, **options: Any) -> None:
    with DemoServer(EndlessDays()) as server:
        settings = Settings.of(
            store=store,
            delay=0,
            workers=0,
            allow_private=True,
            resolve=[f"*={server.address}"],
            **options,
        )
        Crawl([f"{HOST}/"], settings).run()


def test_traps_and_repeating_paths_are_told_apart(path: Path) -> None:
    crawl(path, barren_pages=5)
    suspects = "only pages that say nothing new link to it"
    repeats = "a segment of its path occurs 5 times: more than 4"
    found = cuts(path, status(path))
    assert found == [
        Cut(1, HOST, "trap", repeats, "pages given as seeds are read"),
        Cut(1, HOST, "trap", suspects, "lifted by --barren-pages none"),
    ]
    gathered = status(path).importance_gathered
    assert gathered is not None
    assert gathered < 1
    told = CliRunner().invoke(status_command, ["--store", str(path)]).output
    assert f"1 page of {HOST}: {suspects}; lifted by --barren-pages none" in told
    assert "100.0%" not in told.partition("guaranteed")[0]
    with snapshot(path) as seen:
        (cut,) = [one for one in seen.origins if one == HOST]
        reasons = explain(seen, f"{cut}/a/up/up/up/up/up/b").reasons
    limits = "limits of this kind cut off 2 pages of its host"
    assert reasons[-1] == f"{limits}; pages given as seeds are read"


@pytest.mark.parametrize(
    ("options", "kind", "option"),
    [
        ({"max_depth": 2}, "depth", "--max-depth"),
        ({"per_host_pages": 4}, "host-budget", "--per-host-pages"),
    ],
)
def test_limits_of_the_user_are_told_and_not_gathered(
    path: Path, options: dict[str, int], kind: str, option: str
) -> None:
    crawl(path, **options)
    told = [cut for cut in cuts(path, status(path)) if cut.kind == kind]
    assert [(cut.pages, cut.remedy) for cut in told] == [(1, f"lifted by {option} none")]
    assert (status(path).importance_gathered or 1) < 1


def test_of_a_large_store_only_kinds_are_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl(path, barren_pages=5)
    monkeypatch.setattr("minicrawl.report.states.cuts.MOST_AT_ONCE", 1)
    (cut,) = cuts(path, status(path))
    assert (
        str(cut) == "2 pages: probably a trap: endless similar pages; lifted by --barren-pages none"
    )
    assert len(cuts(path, status(path), even_of_many=True)) == 2
