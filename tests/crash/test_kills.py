"""A crawl that is killed again and again loses nothing: `python -m tests.crash`, but shorter."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof

KILLS, CUTS, SEED = 25, 300, 8


def crash(*flags: str) -> list[str]:
    """In a process of its own, with which those that it starts end."""
    command = [sys.executable, "-m", "tests.crash", "--seed", str(SEED), *flags]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout.splitlines()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "found.md"
    path.write_text(
        "".join(f"<!-- {part} -->\n<!-- end of {part} -->\n" for part in ("kills", "cuts"))
    )
    return path


def test_a_crawl_that_is_killed_loses_nothing_and_does_little_twice(document: Path) -> None:
    killed, *_, verdict, _ = crash("--kills", str(KILLS), "--into", str(document))
    assert killed.startswith(f"{KILLS} kills")
    assert verdict == "nothing is wrong"
    assert f"| kills | {KILLS} |" in document.read_text()


def test_a_write_ahead_log_that_is_damaged_passes_for_no_more_than_was_committed(
    document: Path,
) -> None:
    _, *cuts, verdict, _ = crash("--cuts", str(CUTS), "--into", str(document))
    assert sum(int(line.partition(" ")[0]) for line in cuts) == CUTS
    assert verdict == "nothing is wrong"
    assert f"| all | {CUTS} |" in document.read_text()
