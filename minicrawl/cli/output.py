"""Output of the commands: tables and facts for people, JSON for programs.

Output goes to stdout; if stdout is used for data, tables go to stderr with `err=True`.

Law: the text of a page is shown, never interpreted. Control characters, bidirectional marks and
markup do not reach the terminal.
"""

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

import click

from minicrawl.cli import PROGRAM
from minicrawl.json_values import to_json
from minicrawl.own_files import exposure
from minicrawl.web.readable_hosts import readable
from minicrawl.wording import visible

NONE = "none"


def percent(share: float) -> str:
    return f"{100 * share:.4f} %"


def units(amount: float) -> str:
    """Format an amount of cash, in units."""
    return f"{amount:,.2f}"


def correlation(value: float | None) -> str:
    """Format a correlation between -1 and 1."""
    return NONE if value is None else f"{value:.4f}"


def share(value: float | None) -> str:
    return NONE if value is None else f"{value:.2%}"


def short_time(iso: str) -> str:
    """Format a UTC time to the minute, without the current year."""
    shown = iso[:16].replace("T", " ")
    return shown.removeprefix(time.strftime("%Y-", time.gmtime()))


_GAP = "  "
_NOTHING = ("", "-")
_HOST_KEPT = 1 / 2
"""Maximum share of the width of a URL for its host, if the path needs the rest."""
_TITLE = "title"
_MOST_LINES = 4
_GOES_ON = " \\"
_LINES_OF_URL = 3
_BREAKS = ("/", ".-_?&=,+")
"""Characters after which a URL may be wrapped, in order of preference."""
_NARROWEST = 10
_OF_FIRST = 2
"""Width of the first column of text, relative to the others."""


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


def show_long_list(
    headings: Sequence[str],
    parts: Iterable[Iterable[Sequence[str]]],
    *,
    widest: Sequence[str],
    texts: int,
) -> None:
    """Show a list in parts, one in memory at a time; `widest` has each column's widest number."""
    for place, rows in enumerate(parts):
        show_list(headings, rows, texts=texts, widest=widest, goes_on=place > 0)


def show_list(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    texts: int,
    widest: Sequence[str] = (),
    goes_on: bool = False,
    err: bool = False,
) -> None:
    """Show columns of numbers, followed by `texts` columns of text.

    On a terminal, columns of numbers without any are left out, and text is made to fit the width:
    a URL continues on the next line, and only a very long one is cut, in the middle of its path.
    With --wide and elsewhere all is shown in one line, and text is not padded. Rows that go on with
    a list have no headings.
    """
    from rich.cells import cell_len, set_cell_size

    stream = sys.stderr if err else sys.stdout
    first = len(headings) - texts
    unshown = [*(widest or [""] * first), *[""] * texts]
    cells_of_rows = ([visible(readable(cell)) for cell in row] for row in rows)
    lines = [list(headings), unshown, *cells_of_rows]
    is_narrow = stream.isatty() and not _is_wide()
    if is_narrow:
        # Without the columns of numbers that have none.
        places = [
            place
            for place, (_, *cells) in enumerate(zip(*lines, strict=True))
            if place >= first or not cells or any(cell not in _NOTHING for cell in cells)
        ]
        lines = [[line[place] for place in places] for line in lines]
        first = len(lines[0]) - texts
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    numbers, words = widths[:first], widths[first:]
    room = shutil.get_terminal_size().columns - sum(numbers) - len(_GAP) * len(numbers)
    fitted = _fitted(_wanted([line[first:] for line in lines], words, room), room)
    columns = list(zip(fitted, words, lines[0][first:], strict=False))
    for line in lines[2:] if goes_on else (lines[0], *lines[2:]):
        cells = [cell.rjust(width) for cell, width in zip(line, numbers, strict=False)]
        texts_shown: Iterable[Sequence[str]] = [line[first:]]
        if is_narrow and texts:  # without cells beyond the columns
            parts = [
                _lines_of(cell, width, natural, is_title=heading == _TITLE)
                for cell, (width, natural, heading) in zip(line[first:], columns, strict=False)
            ]
            texts_shown = (
                [set_cell_size(part, width) for part, width in zip(row, fitted, strict=True)]
                for row in zip_longest(*parts, fillvalue="")
            )
        for shown in texts_shown:
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
    help="Do not cut lines to the width of the terminal.",
)


def _is_wide() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_WIDE))


def show_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Show one name and value per line; on a terminal, long values are wrapped."""
    shown = [(name, visible(readable(value))) for name, value in facts]
    width = max(len(name) for name, _ in shown)
    is_narrow = sys.stdout.isatty() and not _is_wide()
    room = shutil.get_terminal_size().columns - width - len(_GAP)
    for name, value in shown:
        lines = _lines_of_fact(value, room) if is_narrow and room >= _NARROWEST else [value]
        for label, line in zip_longest([name], lines, fillvalue=""):
            click.echo(f"{label.ljust(width)}{_GAP}{line}")


def _lines_of_fact(value: str, room: int) -> list[str]:
    """Wrap a command with backslashes, so that it can be copied."""
    from rich.cells import cell_len

    if cell_len(value) <= room:
        return [value]
    is_command = value.startswith("minicrawl ")
    lines = textwrap.wrap(
        value,
        _characters_within(value, room - len(_GOES_ON) * is_command),
        break_on_hyphens=False,
        break_long_words=not is_command,
    )
    return [f"{line}{_GOES_ON}" for line in lines[:-1]] + lines[-1:] if is_command else lines


def _characters_within(text: str, cells: int) -> int:
    """Return how many characters of a text surely fit into cells; wide ones take two cells."""
    from rich.cells import cell_len

    return cells if cell_len(text) <= len(text) else cells // 2


def show_paragraph(text: str, indent: str, dress: Callable[[str], str] = str) -> None:
    """Show indented text, wrapped on a terminal. `dress` is applied to each wrapped line."""
    width = shutil.get_terminal_size().columns
    is_narrow = sys.stdout.isatty() and not _is_wide() and width > len(indent) + _NARROWEST
    if not is_narrow:
        click.echo(dress(indent + text))
        return
    after = " " * len(indent)
    for line in textwrap.wrap(
        text,
        _characters_within(text, width),
        initial_indent=indent,
        subsequent_indent=after,
        break_on_hyphens=False,
    ):
        click.echo(dress(line))


def warn_of_exposure(key: Path) -> None:
    """Print a warning if other users can read or replace the file of a private key."""
    if why := exposure(key):
        warn(why)


def warn(line: str) -> None:
    click.echo(f"{PROGRAM}: {visible(line)}", err=True)


def show_json(document: object) -> None:
    click.echo(as_json(document))


def show_long_json(
    document: Mapping[str, object], name: str, parts: Iterable[list[object]]
) -> None:
    """Show a document whose last value is a list, one part in memory at a time."""
    click.echo(as_json({**document, name: []}).removesuffix("]}"), nl=False)
    for place, part in enumerate(parts):
        click.echo((", " if place else "") + as_json(part)[1:-1], nl=False)
    click.echo("]}")


def as_json(document: object) -> str:
    """Return one line of ASCII JSON, without control characters."""
    return json.dumps(to_json(document), allow_nan=False).replace("\x7f", r"\u007f")


def _fitted(widths: list[int], room: int) -> list[int]:
    """Distribute the width over columns; the last ones get 0 if there is too little for all."""
    for count in range(len(widths), 1, -1):
        wishes = widths[:count]
        widths_ = _shared(wishes, room - len(_GAP) * (count - 1))
        if all(got >= min(width, _NARROWEST) for got, width in zip(widths_, wishes, strict=True)):
            return widths_
    return [min(width, max(room, _NARROWEST)) for width in widths[:1]]


def _wanted(lines: list[list[str]], widths: list[int], room: int) -> list[int]:
    """Return the widths of text columns; schemes and titles are dropped to make room for URLs."""
    from rich.cells import cell_len

    if sum(widths) + len(_GAP) * (len(widths) - 1) <= room:
        return widths
    bare = [
        max(cell_len(_without_scheme(cell)) for cell in column)
        for column in zip(*lines, strict=True)
    ]
    has_title = len(bare) > 1 and lines[0][-1] == _TITLE
    used = sum(bare[:-1]) + len(_GAP) * (len(bare) - 1)
    return bare[:-1] if has_title and used + _NARROWEST > room else bare


def _shared(widths: list[int], room: int) -> list[int]:
    """Share the width; a column that needs less leaves the rest to the others."""
    weights = [_OF_FIRST, *[1] * (len(widths) - 1)]
    shares, left = [0] * len(widths), sum(weights)
    # The column that needs least comes first: the others share what it leaves.
    for place in sorted(range(len(widths)), key=lambda column: widths[column] / weights[column]):
        shares[place] = min(widths[place], room * weights[place] // left)
        room -= shares[place]
        left -= weights[place]
    return shares


def _lines_of(cell: str, width: int, natural: int, *, is_title: bool) -> list[str]:
    """Wrap a text or a URL of a column into a few lines; cut a title to one."""
    from rich.cells import cell_len, set_cell_size

    if "://" in cell and width < natural:
        return wrapped_url(cell, width)
    if cell_len(cell) <= width:
        return [cell]
    wrap_at = _characters_within(cell, width)
    lines = [cell] if is_title else textwrap.wrap(cell, wrap_at)
    if len(lines) > _MOST_LINES or cell_len(lines[0]) > width:
        shown = lines[: 1 if cell_len(lines[0]) > width else _MOST_LINES]
        return [*shown[:-1], f"{set_cell_size(shown[-1], width - 1).rstrip()}…"]
    return lines


def wrapped_url(url: str, width: int) -> list[str]:
    """Wrap a URL without its scheme, at punctuation if possible."""
    bare, lines = _without_scheme(url), []
    while len(bare) > width:
        ends = (max(bare.rfind(char, 0, width) for char in chars) + 1 for chars in _BREAKS)
        end = next((end for end in ends if end > width // 2), width)
        lines.append(bare[:end])
        bare = bare[end:]
    if len(lines) < _LINES_OF_URL:
        return [*lines, bare]
    short = shortened_url(url, _LINES_OF_URL * width)
    return [short[at : at + width] for at in range(0, len(short), width)]


def _without_scheme(url: str) -> str:
    return url.partition("://")[2] or url


def shortened_url(url: str, width: int) -> str:
    """Shorten a URL: drop the scheme and, if necessary, all but host and end of path."""
    bare = _without_scheme(url)
    if len(bare) <= width:
        return bare
    host, slash, path = bare.partition("/")
    room = max(int(width * _HOST_KEPT), width - len(slash + path))
    if len(host) > room:
        host = f"{host[: max(room - 1, 1)]}…"
    end = max(width - len(host) - len("/…"), 0)
    return f"{host}{slash}{path if len(path) <= end else f'…{path[-end:]}'}"[:width]
