"""Displays of a running crawl: its numbers, the richest pages, and no control characters."""

import io
import re
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import replace
from typing import Literal

import pytest
from rich.console import Console

from minicrawl.cli.crawl.display import LINE_EVERY_S, Lines, Panel, display
from minicrawl.cli.crawl.display_state import (
    DisplayState,
    RunCounter,
    Speed,
    as_line,
    as_panel,
)
from minicrawl.config import Budget
from minicrawl.crawl.events import Asked, Checking, Delayed, Ended, Reason, Settled
from minicrawl.crawl.progress import Progress, RecentRate, RenderingProgress
from minicrawl.states import State
from tests.cli.calls import Captured
from tests.store.sidecar.test_samples import SAMPLE

PROGRESS = Progress(
    known=3181,
    unread=931,
    fetched=1234,
    requests=2234,
    failed=53,
    wire_bytes=5_868_393,
    hosts=47,
    running_s=9.0,
    turns_of_cash=1.417,
    importance_gathered=0.8059,
)


class Clock:
    """Clock that a test advances."""

    def __init__(self) -> None:
        self.moment = 100.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> DisplayState:
    return DisplayState(RunCounter(), Speed(clock), Budget(pages=2000))


def asked(counter: RunCounter, *cash: float) -> None:
    for number, amount in enumerate(cash):
        counter.hear(Asked(url=f"https://a.example/{number}", cash=amount))


def terminal(width: int = 80) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)


def shown_on(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class TestRunCounter:
    def test_a_request_is_in_flight_until_its_page_is_settled_or_delayed(self) -> None:
        counter = RunCounter()
        asked(counter, 1.0, 2.0, 3.0)
        counter.hear(Settled(url="https://a.example/0", state=State.FETCHED))
        counter.hear(Delayed(url="https://a.example/2", detail="failed:reset"))
        counter.hear(Ended(reason=Reason.EMPTY))
        assert counter.in_flight == {"https://a.example/1": 2.0}

    def test_read_and_failed_count_only_requested_pages(self) -> None:
        counter = RunCounter()
        asked(counter, 1.0, 1.0, 1.0, 1.0)
        for number, state in enumerate((State.FETCHED, State.ALIAS, State.MOVED, State.DNS)):
            counter.hear(Settled(url=f"https://a.example/{number}", state=state))
        counter.hear(Settled(url="https://never.example/", state=State.ROBOTS))
        counter.hear(Settled(url="https://down.example/", state=State.DNS))
        assert (counter.read, counter.answered, counter.failed) == (2, 4, 1)
        assert counter.not_requested == 1


class TestSpeed:
    def test_recent_speed_covers_ten_seconds_and_the_mean_covers_all(self, clock: Clock) -> None:
        speed = Speed(clock)
        for second in range(1, 31):
            clock.moment += 1
            speed.record(100 * min(second, 20) + 10 * max(second - 20, 0))
        assert speed.recent == 10
        assert speed.mean == 70
        assert speed.elapsed_s == 30

    def test_recent_speed_covers_a_longer_time_between_rare_updates(self, clock: Clock) -> None:
        speed = Speed(clock)
        for pages in (300, 900):
            clock.moment += 30
            speed.record(pages)
        assert speed.recent == 20


def test_a_recent_rate_is_that_of_the_last_seconds() -> None:
    pace = RecentRate(2.0)
    assert pace.record(0, 10.0) == 0
    assert pace.record(5, 10.5) == 10
    assert pace.record(20, 12.0) == 10
    assert pace.record(20, 13.0) == 6
    assert pace.record(20, 16.0) == 0


class TestWords:
    @pytest.mark.parametrize(
        ("found", "left"),
        [
            (0, ", estimate: 300 pages, 0:01:00 left"),
            (20, ", estimate: 400 pages, 0:01:20 left"),
            (60, ""),
        ],
    )
    def test_without_a_budget_the_rest_is_estimated_once_few_new_pages_are_found(
        self, clock: Clock, found: int, left: str
    ) -> None:
        """In 20 seconds 100 pages are read and `found` are found; the others are of a sitemap."""
        state = DisplayState(RunCounter(), Speed(clock), Budget())
        state.record(replace(PROGRESS, fetched=0, unread=400))
        clock.moment += 20
        state.counter.read = 100
        after = replace(PROGRESS, fetched=100, unread=300 + found)
        state.record(after)
        assert state.elapsed(after) == f"0:00:20{left}"

    def test_checked_links_are_counted(self, state: DisplayState) -> None:
        state.hear(Checking(done=120, all=1384))
        assert "; 120 of 1,384 links checked" in as_line(state, PROGRESS)
        assert "checks      120 of 1,384 links checked" in as_panel(state, PROGRESS).plain

    @pytest.mark.parametrize(
        ("budget", "left"),
        [
            (Budget(), ""),
            (Budget(pages=9000), ""),  # more than is known
            (Budget(pages=1244), ", about 0:00:01 left"),
            (Budget(new_pages=20), ", about 0:00:02 left"),
            (Budget(seconds=100, pages=1844), ", about 0:00:39 left"),
        ],
    )
    def test_the_time_left_is_shown_if_a_budget_will_end_the_crawl(
        self, clock: Clock, budget: Budget, left: str
    ) -> None:
        state = DisplayState(RunCounter(), Speed(clock), budget)
        clock.moment += 61.0
        state.speed.record(610)
        assert as_line(state, PROGRESS).endswith(f"; 0:01:01{left}")

    def test_a_line_has_all_the_numbers(self, state: DisplayState, clock: Clock) -> None:
        clock.moment += 61.0
        state.speed.record(610)
        assert as_line(state, PROGRESS) == (
            "1,234 of 2,000 pages, 10/s now, 10/s on average; importance 80.6% (estimate); "
            "3,181 known on 47 hosts, 931 unread, 53 failed; 2,234 requests, 5.9 MB; 0:01:01, "
            "about 0:01:17 left"
        )

    def test_the_panel_has_the_numbers_of_a_line_and_the_richest_pages(
        self, state: DisplayState
    ) -> None:
        asked(state.counter, 7.0, 1234.5)
        *panel, richest, next_one = as_panel(state, PROGRESS).plain.splitlines()
        numbers = re.compile(r"\d[\d,.:]*")
        assert {*numbers.findall(as_line(state, PROGRESS))} <= {*numbers.findall(" ".join(panel))}
        assert richest.split() == ["1,234.50", "https://a.example/1"]
        assert next_one.split() == ["7.00", "https://a.example/0"]

    def test_the_latest_sample_of_the_graph_is_shown(self, state: DisplayState) -> None:
        state.latest_sample = lambda: replace(SAMPLE, at=time.time())
        shown = as_panel(state, PROGRESS).plain
        assert "components  3 strong, 1 weak                  the largest has 1 page" in shown
        assert re.search(r"figures     exact, \d+ s old; distances estimate, ", shown)
        assert "; graph 3 crawled pages, 2 links; components 3 strong" in as_line(state, PROGRESS)

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_no_line_is_wider_than_the_terminal(self, state: DisplayState, width: int) -> None:
        state.counter.hear(Asked(url=f"https://a.example/{'x' * 999}", cash=1.0))
        panel = terminal(width).render_lines(as_panel(state, PROGRESS), pad=False)
        lines = ["".join(segment.text for segment in line) for line in panel]
        assert max(map(len, lines)) == width
        *_, richest, last = lines
        assert richest.endswith("…")
        assert last == ""

    def test_control_characters_of_a_url_are_escaped(self, state: DisplayState) -> None:
        state.counter.hear(Asked(url="https://a.example/\x1b]0;x\x07\u202e[red]", cash=1.0))
        console = terminal()
        console.print(as_panel(state, PROGRESS))
        assert r"https://a.example/\x1b]0;x\x07\u202e[red]" in shown_on(console)


class TestDisplays:
    def test_lines_go_to_stderr_at_once(self, state: DisplayState, capsys: Captured) -> None:
        lines = Lines(state, terminal)
        lines.show(PROGRESS)
        lines.say("some \x1b news")
        lines.close()
        out, err = capsys.readouterr()
        assert err.splitlines() == [as_line(state, PROGRESS), "some \\x1b news"]
        assert out == ""

    def test_a_closed_stderr_ends_no_crawl(self, state: DisplayState) -> None:
        class Gone(io.StringIO):
            def write(self, text: str) -> int:
                raise BrokenPipeError

        with redirect_stderr(Gone()):
            lines = Lines(state, terminal)
            lines.say("anybody?")
            lines.warn("anybody?")

    @pytest.mark.parametrize(
        ("color", "line"),
        [(None, "no \\x1b room\n"), ("standard", "\x1b[31mno \\x1b room\x1b[0m\n")],
    )
    def test_quiet_hides_no_warning_and_colours_make_it_red(
        self, state: DisplayState, capsys: Captured, color: Literal["standard"] | None, line: str
    ) -> None:
        def console() -> Console:
            return Console(file=io.StringIO(), force_terminal=True, color_system=color)

        for shown in (Lines(state, console, quiet=True), Lines(state, console)):
            shown.warn("no \x1b room")
            assert capsys.readouterr() == ("", line)

    def test_a_warning_stays_above_the_panel(self, state: DisplayState) -> None:
        console = terminal()
        panel = Panel(state, console)
        panel.warn("no room")
        panel.close()
        assert shown_on(console) == "no room\n"

    def test_the_panel_is_below_the_lines_and_erased_at_the_end(self, state: DisplayState) -> None:
        console = terminal()
        panel = Panel(state, console)
        panel.say("first")
        panel.say("sec\x1bond [bold]")
        panel.show(PROGRESS)
        drawn = shown_on(console)
        assert drawn.startswith("first\nsec\\x1bond [bold]\n")
        assert "1,234 of 2,000" in drawn
        panel.show(replace(PROGRESS, fetched=1300))
        panel.say("last")
        panel.close()
        assert "1,300 of 2,000" in shown_on(console)
        assert "last\n" in shown_on(console)
        assert shown_on(console).endswith("\x1b[2K")  # the line is erased

    @pytest.mark.parametrize(
        ("is_terminal", "term", "quiet", "kind"),
        [
            (True, "xterm", False, Panel),
            (True, "dumb", False, Lines),
            (False, "xterm", False, Lines),
            (True, "xterm", True, Lines),
        ],
    )
    def test_stderr_and_quiet_choose_the_display(
        self,
        state: DisplayState,
        monkeypatch: pytest.MonkeyPatch,
        on_terminal: Callable[..., None],
        is_terminal: bool,
        term: str,
        quiet: bool,
        kind: type,
    ) -> None:
        if is_terminal:
            on_terminal("stderr")
        monkeypatch.setenv("TERM", term)
        found = display(state, terminal, quiet=quiet)
        assert isinstance(found, kind)
        assert found.every_s <= LINE_EVERY_S


def test_after_a_window_shrinks_all_wrapped_lines_are_erased(state: DisplayState) -> None:
    console = terminal(100)
    panel = Panel(state, console)
    asked(state.counter, 1.0)
    panel.show(PROGRESS)
    before = len(shown_on(console))
    wrapped = sum(len(line) > 60 for line in as_panel(state, PROGRESS).plain.splitlines())
    assert wrapped
    console.width = 60
    panel.show(PROGRESS)
    assert f"\x1b[{wrapped}A\x1b[J" in shown_on(console)[before:]
    seen = len(shown_on(console))
    panel.show(PROGRESS)
    assert "\x1b[J" not in shown_on(console)[seen:]
    panel.close()


def test_the_panel_shows_pages_that_browsers_render(state: DisplayState) -> None:
    asked(state.counter, 7.0)
    pages = (("https://a.example/new", 0.24), ("https://a.example/\x1b[m", 12.0))
    found = RenderingProgress(browsers=3, rendered=1214, waiting=5, pages=pages)
    rendering = replace(PROGRESS, rendering=found)
    panel = as_panel(state, rendering).plain
    assert "2 of 3 browsers busy  " in panel
    assert [line.split() for line in panel.splitlines()[-2:]] == [
        ["12.0", "s", "https://a.example/\\x1b[m"],
        ["0.2", "s", "https://a.example/new"],
    ]
    assert "; 2 of 3 browsers busy, 1,214 rendered, 5 waiting" in as_line(state, rendering)
    assert "browser" not in as_line(state, PROGRESS)


def test_the_host_that_the_crawl_waits_for_is_shown(state: DisplayState) -> None:
    waiting = replace(PROGRESS, waits_for="https://a.example", wait_s=0.84)
    assert "waits for   https://a.example, 0.8 s" in as_panel(state, waiting).plain
    assert "waits for" not in as_panel(state, PROGRESS).plain
