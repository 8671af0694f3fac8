"""What all tests share: the same examples on every run, and real files where there are any."""

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from tests.shared import Absent, find

# Derandomised: a test that passed yesterday and fails today has met a change, not a new die.
for name, most in {"usual": 25, "whole": 100}.items():
    settings.register_profile(
        name, derandomize=True, database=None, deadline=None, max_examples=most
    )

# Whoever starts the tests in the background has Ctrl-C ignored, and so would have what they start.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Child processes by the hundred would each compile the package, where nobody may write that down.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


USUAL = "not proof and not documents"
"""The tests that `python -m pytest` runs, as pyproject.toml has it."""


def pytest_configure(config: pytest.Config) -> None:
    """Run all tests of files that are named one by one; try fewer examples where all are run."""
    if _names_files(config) and config.option.markexpr.strip() == USUAL:
        config.option.markexpr = ""
    settings.load_profile("usual" if config.option.markexpr.strip() == USUAL else "whole")


def pytest_collection_finish() -> None:
    """Exempt all tests from garbage collection, which looks at each of them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Number of processes: all cores, and two more since some tests wait.

    Files that are named one by one are tested in this process, which begins sooner.
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


@pytest.fixture(scope="session")
def shared_graph() -> Callable[[str], Path]:
    """Answer with the path of a real graph by its file name; skip the test where it is absent."""
    return partial(_find_or_skip, "graphs")


@pytest.fixture(scope="session")
def shared_vector() -> Callable[[str], Path]:
    """Answer with the path of conformance vectors; skip the test where they are absent."""
    return partial(_find_or_skip, "vectors")


def _find_or_skip(kind: str, name: str) -> Path:
    try:
        return find(kind, name, os.environ)
    except Absent as absence:
        pytest.skip(str(absence))
