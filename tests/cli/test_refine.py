"""`minicrawl refine`: its output, signals and errors."""

import os
import re
import signal
from itertools import count
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.opic.importance.cash_flow import Refinement
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.cli.damages import DAMAGES, whole_store
from tests.crawl.refined_stores import a_store, frontier_of


@pytest.fixture
def store(path: Path) -> Path:
    return a_store(path)


def test_the_result_is_shown_in_a_few_lines(store: Path, capsys: Captured) -> None:
    out = printed(capsys, "refine", "--store", store)
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["store", "pages", "links", "rounds", "error", "moved", "unchanged"]
    assert str(store) in out


def test_the_result_is_printed_as_json(store: Path, capsys: Captured) -> None:
    found = as_json(capsys, "refine", "--store", store, "--until", "1e-9")
    assert set(found) == {
        *("pages", "links", "rounds", "error_bound", "converged", "moved", "top_kept", "store")
    }
    assert found["pages"] == 80
    assert 0 < found["error_bound"] <= 1e-9
    assert found["store"] == str(store)
    assert frontier_of(store).ledger.missing() == 0


def test_the_environment_may_name_the_store(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINICRAWL_STORE", str(store))
    to = store.with_name("refined.db")
    assert as_json(capsys, "refine", "--to", to)["store"] == str(to)
    assert as_json(capsys, "status", "--store", to)["convergence"]
    assert not as_json(capsys, "status")["convergence"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        (0, "interrupted before the ranks were worth keeping: run the same command again"),
        (4, "interrupted; ranks with an error of at most .* are kept: run the same command to"),
    ],
)
def test_after_a_signal_the_same_command_resumes(
    number: signal.Signals,
    rounds: int,
    told: str,
    store: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, handler = count(), signal.getsignal(number)
    once = Refinement._round  # no public step is short enough for a signal between two

    def round_or_signal(self: Refinement) -> None:
        if next(made) == rounds:
            os.kill(os.getpid(), number)
        once(self)

    with monkeypatch.context() as patched:
        patched.setattr(Refinement, "_round", round_or_signal)
        assert main(["refine", "--store", str(store)]) == 130
    assert re.match(f"minicrawl: {told}", capsys.readouterr().err)
    assert signal.getsignal(number) is handler
    assert bool(as_json(capsys, "status", "--store", store)["convergence"]) == bool(rounds)
    assert main(["refine", "--store", str(store)]) == 0


@pytest.mark.parametrize("options", [[], ["--to", "copy.db"]])
def test_a_damaged_store_is_named_and_not_its_copy(options: list[str], capsys: Captured) -> None:
    DAMAGES["zeros for a leaf of frontier"](whole_store(Path("crawl.db")))
    line = refusal(capsys, "refine", "--store", "crawl.db", *options, code=1)
    assert line.startswith("minicrawl: crawl.db: ")
