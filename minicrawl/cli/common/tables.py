"""Output of the commands: tables and facts for people, JSON for programs.

Output goes to stdout. Where stdout has something else, tables go to stderr with `err=True`.

Law: the text of a page is shown and never interpreted. None of its control characters, its marks
that change the direction of text and its markup reaches the terminal.
"""

import json
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import click

from minicrawl.export.cells import visible

Command = Callable[..., Any]

NONE = "none"


class Sizes(click.ParamType[tuple[int, ...]]):
    """A list of whole numbers above 0, separated by commas; sorted."""

    name = "sizes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, ...]:
        texts = [text.strip() for text in str(value).split(",")]
        if not all(text.isascii() and text.isdigit() and text.strip("0") for text in texts):
            self.fail(f"{value!r} is not a list of numbers such as 10,100", param, ctx)
        return tuple(sorted(set(map(int, texts))))


def sizes_option(default: str) -> Callable[[Command], Command]:
    """Pass `ks`, the sizes of the tops to compare, to the command."""
    return click.option(
        "--k",
        "ks",
        metavar="K,...",
        type=Sizes(),
        default=default,
        show_default=True,
        help="Show the overlap of the K best pages.",
    )


def correlation(value: float | None) -> str:
    """A correlation between -1 and 1, as text."""
    return NONE if value is None else f"{value:.4f}"


def share(value: float | None) -> str:
    """A share in percent, as text."""
    return NONE if value is None else f"{value:.2%}"


def show_lines(lines: Sequence[str]) -> None:
    """Show remarks, one a line."""
    for line in lines:
        click.echo(line)


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
    """Show a table: the first column names a row, the others are numbers."""
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
    """Show columns of numbers, then one or two columns of text (`texts`).

    On a terminal, text is cut to the width. Elsewhere text is neither cut nor padded.
    """
    from rich.cells import cell_len

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
    """Show one name and value a line."""
    shown = [(name, visible(value)) for name, value in facts]
    width = max(len(name) for name, _ in shown)
    for name, value in shown:
        click.echo(f"{name.ljust(width)}{_GAP}{value}")


def show_json(document: object) -> None:
    """Show a document as one line of JSON."""
    click.echo(as_json(document))


def as_json(document: object) -> str:
    """One line of JSON in ASCII, without control characters."""
    return json.dumps(document, allow_nan=False).replace("\x7f", r"\u007f")


def _fitted(widths: list[int], room: int) -> list[int]:
    """The last column gets the room that the first one leaves, or none where that is too little."""
    first, *others = widths
    for last in others:
        fair = min(first, int(room * _FIRST_OF_TWO))
        if (rest := room - len(_GAP) - fair) >= _NARROWEST:
            return [fair, min(last, rest)]
    return [min(first, max(room, _NARROWEST))]


def _cut_to(widths: list[int], cells: list[str]) -> Iterator[str]:
    """The cells cut or padded to the widths; cells without a width are left out."""
    from rich.cells import cell_len, set_cell_size

    for width, cell in zip(widths, cells, strict=False):
        if cell_len(cell) <= width:
            yield set_cell_size(cell, width)
        else:
            yield f"{set_cell_size(cell, width - 1)}…"
