"""Short runs of `python -m tests.proofs.crash`."""

from pathlib import Path

import pytest

from tests.processes import run_python
from tests.proofs import IS_LONG

pytestmark = pytest.mark.proof

KILLS, CUTS, SEED = 25 if IS_LONG else 10, 300 if IS_LONG else 100, 8


def crash(*flags: str) -> list[str]:
    """Run the command in a process of its own, so that its fork server ends with it."""
    command = ("-m", "tests.proofs.crash", "--seed", str(SEED), *flags)
    done = run_python(*command, folder=Path(__file__).parents[3])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout.splitlines()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "found.md"
    parts = (f"<!-- {part} -->\n<!-- end of {part} -->\n" for part in ("kills", "cuts"))
    path.write_text("".join(parts))
    return path


def test_a_killed_crawl_loses_nothing_and_repeats_few_requests(document: Path) -> None:
    killed, *_, verdict, _ = crash("--kills", str(KILLS), "--into", str(document))
    assert killed.startswith(f"{KILLS} kills")
    assert verdict == "nothing is wrong"
    assert f"| kills | {KILLS} |" in document.read_text()


def test_a_damaged_write_ahead_log_never_passes_for_a_commit_that_was_not_made(
    document: Path,
) -> None:
    _, *cuts, verdict, _ = crash("--cuts", str(CUTS), "--into", str(document))
    assert sum(int(line.partition(" ")[0]) for line in cuts) == CUTS
    assert verdict == "nothing is wrong"
    assert f"| all | {CUTS} |" in document.read_text()
