"""`minicrawl refine`: what it prints, and how it ends."""

import json
import os
import re
import signal
from itertools import count
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.errors import Interrupted
from minicrawl.opic.convergence import Refinement
from minicrawl.report.crawl_status import status
from tests.cli.damages import DAMAGES, whole_store
from tests.crawl.refined_stores import a_store, frontier_of

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return a_store(tmp_path / "crawl.db")


def test_it_says_in_a_few_lines_what_came_of_it(store: Path, capsys: Captured) -> None:
    assert main(["refine", "--store", str(store)]) == 0
    out, err = capsys.readouterr()
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["store", "pages", "links", "rounds", "error", "moved", "unchanged"]
    assert str(store) in out
    assert err == ""


def test_programs_get_the_same_as_json(store: Path, capsys: Captured) -> None:
    assert main(["refine", "--store", str(store), "--until", "1e-9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
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
    assert main(["refine", "--to", str(to), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["store"] == str(to)
    assert status(to).convergence is not None
    assert status(store).convergence is None


@pytest.mark.parametrize("arguments", [["--until", "nan"], ["--until", "x"], ["--to", "."]])
def test_what_cannot_be_is_refused_in_one_line(
    arguments: list[str], store: Path, capsys: Captured
) -> None:
    assert main(["refine", "--store", str(store), *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("minicrawl: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        (0, "interrupted before the ranks were worth keeping: run the same command again"),
        (4, "interrupted; ranks with an error of at most .* are kept: run the same command to"),
    ],
)
def test_a_signal_ends_it_in_one_line_and_the_same_command_goes_on(
    number: signal.Signals,
    rounds: int,
    told: str,
    store: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, handler = count(), signal.getsignal(number)
    once = Refinement._round

    def round_or_signal(self: Refinement) -> None:
        if next(made) == rounds:
            os.kill(os.getpid(), number)
        once(self)

    with monkeypatch.context() as patched:
        patched.setattr(Refinement, "_round", round_or_signal)
        assert main(["refine", "--store", str(store)]) == 130
    assert re.match(f"minicrawl: {told}", capsys.readouterr().err)
    assert signal.getsignal(number) is handler
    assert (status(store).convergence is not None) == bool(rounds)
    assert main(["refine", "--store", str(store)]) == 0


def test_the_exit_code_of_an_interruption_is_that_of_the_house() -> None:
    assert Interrupted("").exit_code == 130


@pytest.mark.parametrize("options", [[], ["--to", "copy.db"]])
def test_a_damaged_store_is_named_and_not_its_copy(
    options: list[str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    DAMAGES["zeros for a leaf of frontier"](whole_store(Path("crawl.db")))
    assert main(["refine", "--store", "crawl.db", *options]) == 1
    assert capsys.readouterr().err == ("minicrawl: crawl.db: database disk image is malformed\n")
