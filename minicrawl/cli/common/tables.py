"""Numbers for people: a table on stdout, and the same as JSON for programs.

A command whose stdout is for something else shows its tables on stderr, by `err`.

Law: what a page says of itself is shown, and never obeyed: no control character of it, no mark
that turns the direction of text and no markup reaches the terminal.

What `compare`, `stability` and `agree` have in common: sizes of tops, and numbers as words.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

from minicrawl.export.cells import visible

Command = Callable[..., Any]

NONE = "none"


class Sizes(click.ParamType[tuple[int, ...]]):
    """Whole numbers above 0 with commas between, the least first."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        texts = [text.strip() for text in str(value).split(",")]
        if not all(text.isascii() and text.isdigit() and text.strip("0") for text in texts):
            self.fail(f"{value!r} is no list of numbers such as 10,100", param, ctx)
        return tuple(sorted(set(map(int, texts))))


def sizes_option(usual: str) -> Callable[[Command], Command]:
    """Hands the command `ks`: of how many best pages the overlap is asked for."""
    return click.option(
        "--k",
        "ks",
        metavar="K,...",
        type=Sizes(),
        default=usual,
        show_default=True,
        help="Of how many best pages the overlap is told.",
    )


def correlation(value: float | None) -> str:
    """Between -1 and 1."""
    return NONE if value is None else f"{value:.4f}"


def share(value: float | None) -> str:
    """In percent."""
    return NONE if value is None else f"{value:.2%}"


def say(remarks: Sequence[str]) -> None:
    """Under the numbers, a line each."""
    for remark in remarks:
        click.echo(remark)


_GAP = "  "
_NARROWEST = 10
_FIRST_OF_TWO = 2 / 3


def show_table(
    title: str,
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str,
    *,
    err: bool = False,
) -> None:
    """The first column names a row, the others are numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if column else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(stderr=err)
    console.print(Text(title, style="bold"), table, Text(caption, style="dim"), sep="\n")


def show_list(
    headings: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int, err: bool = False
) -> None:
    """Columns of numbers, then one or two of text, which are cut to the width of a terminal.

    Elsewhere nothing is cut, and text is not filled up to the longest one.
    """
    stream = sys.stderr if err else sys.stdout
    lines = [list(headings), *([visible(cell) for cell in row] for row in rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    numbers = widths[:-texts]
    room = shutil.get_terminal_size().columns - sum(numbers) - len(_GAP) * len(numbers)
    cut = partial(_cut_to, _fitted(widths[-texts:], room)) if stream.isatty() else iter
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, numbers, strict=False)]
        click.echo(_GAP.join((*cells, *cut(line[-texts:]))).rstrip(), err=err)


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """A name and a value a line."""
    shown = [(name, visible(value)) for name, value in facts]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}{_GAP}{value}")


def show_json(document: object) -> None:
    """On one line: a program reads it."""
    click.echo(as_json(document))


def as_json(document: object) -> str:
    """One line in ASCII without control characters."""
    return json.dumps(document, allow_nan=False).replace("\x7f", r"\u007f")


def _fitted(widths: list[int], room: int) -> list[int]:
    """The last column gets what the first leaves, and is left out where that is too little."""
    first, *others = widths
    for last in others:
        fair = min(first, int(room * _FIRST_OF_TWO))
        if (rest := room - len(_GAP) - fair) >= _NARROWEST:
            return [fair, min(last, rest)]
    return [min(first, max(room, _NARROWEST))]


def _cut_to(widths: list[int], cells: list[str]) -> Iterator[str]:
    """As many of the cells as there are widths, each exactly so wide."""
    for width, cell in zip(widths, cells, strict=False):
        if cell_len(cell) <= width:
            yield set_cell_size(cell, width)
        else:
            yield f"{set_cell_size(cell, width - 1)}…"
