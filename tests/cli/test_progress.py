import pytest

from minicrawl.cli.progress import progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test turns."""
    now = [100.0]
    monkeypatch.setattr("minicrawl.cli.progress.time.monotonic", lambda: now[0])
    return now


def test_off_a_terminal_there_is_a_line_every_30_seconds(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("digging") as tell:
        for second in range(70):
            clock[0] = 100.0 + second
            tell(second / 100)
    told = capsys.readouterr()
    assert told.err.splitlines() == ["digging: 30%", "digging: 60%"]
    assert told.out == ""


def test_what_is_done_at_once_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("digging") as tell:
        tell(1)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("seconds", "is_shown"), [(1.0, False), (3.0, True)])
def test_on_a_terminal_there_is_a_bar_after_two_seconds(
    clock: list[float],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    is_shown: bool,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress("digging") as tell:
        clock[0] += seconds
        tell(0.5)
    told = capsys.readouterr()
    assert ("digging" in told.err) == is_shown
    assert told.out == ""
