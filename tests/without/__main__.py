"""Delete a room in a copy of the project, and run the core's tests: `python -m tests.without ROOM`.

A room is a folder and its entry points in pyproject.toml. Tests that need the room are left out:
those in its folder, and those that import the room or name one of its commands. `all` deletes all
rooms at once.
"""

import argparse
import compileall
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.shared import BESIDE_THE_PROJECT
from tests.without.needs import ROOMS, tests_without

ROOT = Path(__file__).parents[2]
_COPIED = ("minicrawl", "tests", "docs", "examples", "seeds", "data", "pyproject.toml", "README.md")


def copy_without(rooms: Sequence[str], folder: Path) -> dict[str, str]:
    """Copy the project without some rooms; return the commands that are gone, with their rooms."""
    for name in _COPIED:
        source = ROOT / name
        if source.is_dir():
            # Python's own bytecode is copied, as each --help would compile the package. That of
            # pytest names the files that it was made from, and unfinished files go away.
            leave_out = shutil.ignore_patterns("*-pytest-*.pyc", "*.pyc.*")
            shutil.copytree(source, folder / name, ignore=leave_out)
        else:
            shutil.copy(source, folder / name)
    for room in rooms:
        shutil.rmtree(folder / "minicrawl" / room)
        shutil.rmtree(folder / "tests" / room, ignore_errors=True)
    described = folder / "pyproject.toml"
    lines = described.read_text(encoding="utf-8").splitlines(keepends=True)
    is_of_room = re.compile(rf'([\w-]+) = "minicrawl\.({"|".join(rooms)})\.')
    gone = [line for line in lines if is_of_room.match(line)]
    described.write_text("".join(line for line in lines if line not in gone), encoding="utf-8")
    _describe(folder)
    compileall.compile_dir(folder / "minicrawl", quiet=2)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    commands = project["entry-points"]["minicrawl.commands"]
    names = {name: value.split(".")[1] for name, value in commands.items()}
    return {name: room for name, room in names.items() if room in rooms}


def _describe(folder: Path) -> None:
    """Write the metadata of an installed package: its name and its entry points."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    described = folder / "minicrawl-0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: minicrawl\nVersion: 0\n")
    with (described / "entry_points.txt").open("w", encoding="utf-8") as file:
        for group, points in project["entry-points"].items():
            file.write(f"[{group}]\n")
            file.writelines(f"{name} = {value}\n" for name, value in points.items())


def run(folder: Path, *arguments: str, capture: bool = True) -> subprocess.CompletedProcess[str]:
    """Run Python in the copy."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=capture,
        text=True,
        check=False,
    )


def wrong_with(folder: Path, gone: Mapping[str, str]) -> Iterator[str]:
    """Yield the faults of the commands without the rooms."""
    helped = run(folder, "-m", "minicrawl", "--help")
    if helped.returncode or helped.stderr:
        yield f"--help: {helped.stderr}"
    for name, room in gone.items():
        if re.search(rf"^  {name} ", helped.stdout, re.MULTILINE):
            yield f"--help lists {name}"
        ran = run(folder, "-m", "minicrawl", name)
        if ran.returncode != 2 or f"minicrawl.{room}" not in ran.stderr:
            yield f"{name}: exit code {ran.returncode}, {ran.stderr}"


def main() -> int:
    """Test without each of the named rooms, or of all, one at a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rooms", nargs="*", choices=[*ROOMS, "all", []], metavar="ROOM")
    parser.add_argument("--tests", nargs="*", default=["tests"], help="run these tests only")
    parser.add_argument("-m", default="", help="run tests with such markers only", dest="markers")
    given = parser.parse_args()
    failed = []
    for room in given.rooms or ROOMS:
        rooms = ROOMS if room == "all" else (room,)
        with TemporaryDirectory(prefix=f"without-{room}-") as name:
            folder = Path(name, "minicrawl")
            folder.mkdir()
            if BESIDE_THE_PROJECT.is_dir():
                Path(name, "shared").symlink_to(BESIDE_THE_PROJECT)
            gone = copy_without(rooms, folder)
            wrong = list(wrong_with(folder, gone))
            for line in wrong:
                click.echo(line)
            chosen = tests_without(rooms, folder, given.tests)
            click.echo(f"without {' '.join(rooms)}: {len(chosen)} modules of tests")
            # pytest would load the plug-in of the installed package, which needs the room `demo`.
            options = ("-p", "no:minicrawl") if "demo" in rooms else ()
            options += ("-m", given.markers) if given.markers else ()
            # Without file names, pytest would run all tests.
            tested = chosen and run(folder, "-m", "pytest", *options, *chosen, capture=False)
            failed += [room] if wrong or not tested or tested.returncode else []
    click.echo(f"failed: {' '.join(failed) or 'nothing'}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
