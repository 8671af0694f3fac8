"""Short runs of `python -m tests.proofs.disk`, and the states of a disk by hand."""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.processes import run_python
from tests.proofs import IS_LONG
from tests.proofs.disk.blocks import RecordedDisk, changes
from tests.proofs.disk.shim import Fault, WatchedFolder, compiled

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(compiled() is None, reason="there is no C compiler: install gcc"),
]

FAULTS, CUTS, SEED = (56, 100, 8) if IS_LONG else (7, 12, 8)


@pytest.mark.parametrize(
    ("flag", "count", "part"), [("--faults", FAULTS, "faults"), ("--cuts", CUTS, "power")]
)
def test_a_failing_disk_loses_nothing(tmp_path: Path, flag: str, count: int, part: str) -> None:
    document = tmp_path / "found.md"
    document.write_text(f"<!-- {part} -->\n<!-- end of {part} -->\n")
    flags = (flag, str(count), "--seed", str(SEED), "--into", str(document))
    done = run_python("-m", "tests.proofs.disk", *flags, folder=Path(__file__).parents[3])
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert f"| {count} |" in document.read_text()


_WRITES = """
import os
file = os.open("a", os.O_WRONLY | os.O_CREAT)
os.write(file, b"A" * 1024)
os.fsync(file)
{sync_folder}
os.pwrite(file, b"B" * 1024, 0)
os.ftruncate(file, 1000)
os.rename("a", "b")
"""
_SYNCS_FOLDER = 'os.fsync(os.open(".", os.O_RDONLY))'


def states(tmp_path: Path, program: str) -> set[tuple[tuple[str, bytes], ...]]:
    """Return many of the states that a disk may have after a program: names and contents."""
    folder, beside = tmp_path / "folder", tmp_path / "beside"
    folder.mkdir()
    beside.mkdir()
    watched = WatchedFolder(folder, beside)
    command = [sys.executable, "-c", program]
    subprocess.run(command, cwd=folder, env=watched.environment(), check=True)
    disk = RecordedDisk(folder)
    for change in changes(watched.log()):
        disk.apply(change)
    assert disk.latest("b") == (folder / "b").read_bytes()
    found = set()
    for seed in range(1000):
        image = tmp_path / str(seed)
        image.mkdir()
        disk.write_torn(Random(seed), image)
        files = sorted(image.iterdir())
        found.add(tuple((file.name, file.read_bytes()) for file in files))
    return found


def test_each_sector_the_length_and_the_names_may_be_old_or_new(tmp_path: Path) -> None:
    sectors = [b"A" * 512, b"B" * 512]
    contents = {one + other for one in sectors for other in sectors}
    contents |= {content[:1000] for content in contents}
    found = states(tmp_path, _WRITES.format(sync_folder=_SYNCS_FOLDER))
    assert {names for names in found if len(names) != 1} == set()
    assert {file[0] for (file,) in found} == {"a", "b"}
    assert contents <= {file[1] for (file,) in found}


def test_a_file_whose_name_was_not_synced_may_be_gone(tmp_path: Path) -> None:
    assert () in states(tmp_path, _WRITES.format(sync_folder=""))


def test_a_call_fails_once_or_from_then_on_until_the_disk_is_mended(tmp_path: Path) -> None:
    program = """
import os
file = os.open("a", os.O_WRONLY | os.O_CREAT)
for _ in range(4):
    try:
        print(os.write(file, b"x"))
    except OSError as error:
        print(error.errno)
"""
    beside = tmp_path / "beside"
    beside.mkdir()
    for lasts, printed in ((False, "1 28 1 1"), (True, "1 28 28 28")):
        watched = WatchedFolder(tmp_path, beside)
        variables = watched.environment(Fault("write", 2, 28, lasts))
        done = run_python("-c", program, folder=tmp_path, variables=variables)
        assert done.stdout.split() == printed.split()
        assert watched.calls() == 4
