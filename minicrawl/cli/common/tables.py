"""Output of the commands: tables and facts for people, JSON for programs.

Output goes to stdout. Where stdout has something else, tables go to stderr with `err=True`.

Law: the text of a page is shown and never interpreted. None of its control characters, its marks
that change the direction of text and its markup reaches the terminal.
"""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import click

from minicrawl.export.cells import visible
from minicrawl.web.idn import readable

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


def short_time(iso: str) -> str:
    """A time in UTC as people write it, to the minute; without the year, if that is this one."""
    shown = iso[:16].replace("T", " ")
    return shown.removeprefix(time.strftime("%Y-", time.gmtime()))


def show_lines(lines: Sequence[str]) -> None:
    """Show remarks, one a line."""
    for line in lines:
        click.echo(line)


_GAP = "  "
_NOTHING = ("", "-")
_HOST_KEPT = 1 / 2
"""Of the room for a URL, at most so much is for its host, if its path needs the rest."""
_TITLE = "title"
_MOST_LINES = 4
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

    On a terminal, columns of numbers without any are left out, and text is shortened to the width:
    a URL in its middle, so that its host and its end are seen. With --wide and elsewhere all is
    shown, and text is not padded.
    """
    from rich.cells import cell_len

    stream = sys.stderr if err else sys.stdout
    lines = [list(headings), *([visible(readable(cell)) for cell in row] for row in rows)]
    is_narrow = stream.isatty() and not _is_wide()
    if is_narrow:
        lines = _without_empty(lines, len(headings) - texts)
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    numbers = widths[:-texts]
    room = shutil.get_terminal_size().columns - sum(numbers) - len(_GAP) * len(numbers)
    columns = [
        _TextColumn(heading == _TITLE, width < natural, width)
        for heading, natural, width in zip(
            lines[0][-texts:], widths[-texts:], _fitted(widths[-texts:], room), strict=False
        )
    ]
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, numbers, strict=False)]
        for shown in _cut_to(columns, line[-texts:]) if is_narrow else [line[-texts:]]:
            click.echo(_GAP.join((*cells, *shown)).rstrip(), err=err)
            cells = [" " * width for width in numbers]


_WIDE = f"{__name__}.wide"


def _widen(context: click.Context, _option: click.Parameter, is_wide: bool) -> None:
    context.meta[_WIDE] = is_wide


wide_option = click.option(
    "--wide",
    is_flag=True,
    expose_value=False,
    callback=_widen,
    help="Show whole lines, however narrow the terminal is.",
)


def _is_wide() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_WIDE))


def _without_empty(lines: list[list[str]], numbers: int) -> list[list[str]]:
    """The lines without the columns of numbers that say nothing."""
    kept = [
        place
        for place, (_, *cells) in enumerate(zip(*lines, strict=True))
        if place >= numbers or not cells or any(cell not in _NOTHING for cell in cells)
    ]
    return [[line[place] for place in kept] for line in lines]


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Show one name and value a line."""
    shown = [(name, visible(readable(value))) for name, value in facts]
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


class _TextColumn(NamedTuple):
    """A column of text, as a narrow terminal shows it."""

    is_of_titles: bool
    is_too_wide: bool
    width: int


def _cut_to(columns: list[_TextColumn], cells: list[str]) -> Iterator[tuple[str, ...]]:
    """The cells as lines; cells without a column are left out."""
    from rich.cells import set_cell_size

    found = [_lines_of(column, cell) for column, cell in zip(columns, cells, strict=False)]
    for line in zip_longest(*found, fillvalue=""):
        yield tuple(
            set_cell_size(part, column.width) for part, column in zip(line, columns, strict=True)
        )


def _lines_of(column: _TextColumn, cell: str) -> list[str]:
    """A text in a few lines; a URL or a title in one."""
    from rich.cells import cell_len, set_cell_size

    width = column.width
    if "://" in cell and column.is_too_wide:
        return [shortened_url(cell, width)]
    if cell_len(cell) <= width:
        return [cell]
    narrowest = width if cell.isascii() else width // 2  # a sign may take two cells
    lines = [cell] if column.is_of_titles else textwrap.wrap(cell, narrowest)
    if len(lines) > _MOST_LINES or cell_len(lines[0]) > width:
        shown = lines[: 1 if cell_len(lines[0]) > width else _MOST_LINES]
        return [*shown[:-1], f"{set_cell_size(shown[-1], width - 1).rstrip()}…"]
    return lines


def shortened_url(url: str, width: int) -> str:
    """The URL without its scheme and, if need be, with the host and the end of the path only."""
    bare = url.partition("://")[2]
    if len(bare) <= width:
        return bare
    host, slash, path = bare.partition("/")
    room = max(int(width * _HOST_KEPT), width - len(slash + path))
    if len(host) > room:
        host = f"{host[: max(room - 1, 1)]}…"
    end = max(width - len(host) - len("/…"), 0)
    return f"{host}{slash}{path if len(path) <= end else f'…{path[-end:]}'}"[:width]
