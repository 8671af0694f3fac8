"""Numbers for people: a table on stdout, and the same as JSON for programs."""

import json
from collections.abc import Iterable, Sequence

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text


def show_table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str
) -> None:
    """The first column names a row, the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, heading in enumerate(headings):
        table.add_column(Text(heading), justify="right" if column else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(Text(title, style="bold"), table, Text(caption, style="dim"), sep="\n")


def show_json(document: object) -> None:
    """On one line: a program reads it."""
    click.echo(json.dumps(document, allow_nan=False))
