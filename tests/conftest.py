"""Settings of all tests: Hypothesis profiles, markers, processes, and fixtures of shared files."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.shared import Absent, find

# Derandomised: a test that fails has met a change of the code, not other random examples.
for name, examples in {"usual": 25, "whole": 100}.items():
    settings.register_profile(
        name,
        derandomize=True,
        database=None,
        deadline=None,
        max_examples=examples,
        suppress_health_check=[HealthCheck.too_slow],  # it depends on the load of the machine
    )

# A shell starts background jobs with SIGINT ignored, and child processes would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Without .pyc files each of hundreds of child processes would compile the package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


USUAL = "not proof and not documents and not slow"
"""Marker expression of a plain `python -m pytest`, as in pyproject.toml."""

MARKERS = {"slow", "proof", "documents"}
"""Markers of the tests that a plain run leaves out; each file that has some names their marker."""


def pytest_configure(config: pytest.Config) -> None:
    """Ignore the default markers if only files are named; with them, try fewer examples."""
    if _names_files(config) and config.option.markexpr.strip() == USUAL:
        config.option.markexpr = ""
    expression = config.option.markexpr.strip()
    is_usual = "not proof" in expression or expression == "slow"
    settings.load_profile("usual" if is_usual else "whole")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no files without tests of the wanted markers, as for `-m "proof or documents"`."""
    wanted = config.option.markexpr.strip().split(" or ")
    if collection_path.suffix != ".py" or not set(wanted) <= MARKERS:
        return None
    source = collection_path.read_text(encoding="utf-8")
    return None if any(f"mark.{marker}" in source for marker in wanted) else True


def pytest_collection_finish() -> None:
    """Freeze all tests, or the garbage collector would visit each of them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return two processes more than there are cores, since some tests wait.

    Named files are tested in this process, without the start of a worker.
    """
    return 0 if _names_files(config) else len(os.sched_getaffinity(0)) + 2


def _names_files(config: pytest.Config) -> bool:
    return all(Path(name.partition("::")[0]).is_file() for name in config.args)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print one line for each reason why tests were skipped."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"SKIPPED {count}: {reason}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a store that does not exist yet."""
    return tmp_path / "crawl.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """Return a store of pages in several states."""
    from tests.stores import filled_store

    return filled_store(path)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that lets commands read a text from stdin."""
    return lambda text: monkeypatch.setattr(sys, "stdin", StringIO(text))


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes standard streams, given by name, a terminal."""

    def of(*streams: str, columns: int = 80) -> None:
        for name, value in {"TERM": "xterm", "COLUMNS": str(columns), "PAGER": "cat"}.items():
            monkeypatch.setenv(name, value)
        for name in streams:
            monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True)

    return of


@pytest.fixture
def long_log(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes logs too long to converge anew for each report."""
    return lambda most=0: monkeypatch.setattr("minicrawl.frontier.importance.MOST_STEPS", most)


@pytest.fixture
def without_rooms(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that hides all entry points, as if no room were installed."""
    return lambda: monkeypatch.setattr("minicrawl.ext.entry_points", lambda _group: {})


@pytest.fixture(scope="session")
def shared_graph() -> Callable[[str], Path]:
    """Return a function that finds a real graph by its file name, or skips the test."""
    return partial(_find_or_skip, "graphs")


@pytest.fixture(scope="session")
def shared_vector() -> Callable[[str], Path]:
    """Return a function that finds conformance vectors by file name, or skips the test."""
    return partial(_find_or_skip, "vectors")


def _find_or_skip(kind: str, name: str) -> Path:
    try:
        return find(kind, name, os.environ)
    except Absent as absence:
        pytest.skip(str(absence))
