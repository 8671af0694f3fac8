"""Walk the options of all commands in pairs: `python -m tests.cli.inert [COMMAND...]`.

It prints the pairs in which one option takes the effect from another one, and exits with 1 if there
are any.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.cli.inert.data import GRAPHS, MAY_STAY_BESIDE, WALKED, make_files, walk_of
from tests.cli.inert.walk import Inert


def inert_pairs(commands: Sequence[str], folder: Path) -> Iterator[Inert]:
    """The pairs that are no exceptions."""
    for command in commands:
        for graph in GRAPHS:
            for found in walk_of(command, graph).in_pairs(folder):
                if (command, found.beside, found.option) not in MAY_STAY_BESIDE:
                    yield found


def main() -> int:
    """Walk the commands that are named, or all."""
    os.environ["MINICRAWL_STORE"] = "none.db"
    wrong = 0
    with TemporaryDirectory() as name:
        make_files(Path(name))
        for command in sys.argv[1:] or WALKED:
            for found in inert_pairs([command], Path(name)):
                line = f"{found.command} of {found.input}: {found.option} beside {found.beside}"
                click.echo(line)
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
