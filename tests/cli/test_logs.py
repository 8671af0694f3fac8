"""Events as lines: one line each, for people and for programs, and nothing else in it."""

import json
from pathlib import Path

import pytest

from minicrawl.cli.logs import FORMS, Log, as_json, as_text, log_file
from minicrawl.crawl.events import Asked, Delayed, Ended, Event, Noted, Reason, Settled
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.model import State

URL = "https://a.example/"
SETTLED = Settled(url=URL, state=State.NOT_FOUND, detail="gone", elapsed_s=0.25)
NEWS: list[tuple[Event, str, dict[str, object]]] = [
    (
        SETTLED,
        f"not-found      0.250 s  {URL}  gone",
        {"event": "settled", "url": URL, "state": "not-found", "seconds": 0.25, "detail": "gone"},
    ),
    (
        Delayed(url=URL, detail="failed:reset"),
        f"delayed                 {URL}  failed:reset",
        {"event": "delayed", "url": URL, "detail": "failed:reset"},
    ),
    (
        Noted(text="so it is"),
        "note                    so it is",
        {"event": "noted", "text": "so it is"},
    ),
    (
        Ended(reason=Reason.STOPPED),
        "ended                   stopped",
        {"event": "ended", "reason": "stopped"},
    ),
]


@pytest.mark.parametrize(("event", "text", "_document"), NEWS)
def test_text_says_when_what_how_long_and_where(
    event: Event, text: str, _document: dict[str, object]
) -> None:
    assert as_text(event, 0.5) == f"1970-01-01T00:00:00Z  {text}"


@pytest.mark.parametrize(("event", "_text", "document"), NEWS)
def test_json_says_the_same(event: Event, _text: str, document: dict[str, object]) -> None:
    line = as_json(event, 1.23456)
    assert line is not None
    assert json.loads(line) == {"at": 1.235} | document


@pytest.mark.parametrize("form", FORMS)
def test_a_request_that_starts_is_no_news(form: str) -> None:
    assert FORMS[form](Asked(url=URL, cash=1.0), 0.0) is None


@pytest.mark.parametrize("form", FORMS)
def test_what_a_server_wrote_stays_on_one_line_and_steers_nothing(form: str) -> None:
    bad = "\x1b[2J\n\x7f\u202e\u2028"
    for event in (
        Settled(url=URL, state=State.MOVED, detail=bad),
        Delayed(url=URL, detail=bad),
        Noted(text=bad),
    ):
        line = FORMS[form](event, 0.0)
        assert line is not None
        assert line.isprintable()


def test_every_writer_gets_every_line_with_the_time_of_the_event() -> None:
    one: list[str] = []
    two: list[str] = []
    log = Log("text", one.append, two.append, today=lambda: 60.0)
    log.hear(Asked(url=URL, cash=1.0))
    log.hear(SETTLED)
    assert one == two == [as_text(SETTLED, 60.0)]


class TestFile:
    def test_lines_go_behind_what_is_there_and_are_there_at_once(self, tmp_path: Path) -> None:
        file = tmp_path / "crawl.log"
        file.write_text("earlier\n", encoding="utf-8")
        with log_file(file) as write:
            write("é")
            assert file.read_text(encoding="utf-8") == "earlier\né\n"

    def test_a_file_that_cannot_be_opened_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="Is a directory"), log_file(tmp_path):
            pass

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
    def test_a_full_disk_is_one_line(self) -> None:
        full = Path("/dev/full")
        with pytest.raises(MinicrawlError, match="No space left"), log_file(full) as write:
            write("one")
