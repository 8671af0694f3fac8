"""A click command. minicrawl imports it only when a user calls it."""

from collections import Counter
from pathlib import Path

import click

from minicrawl import Store


@click.command()
@click.option("--store", type=click.Path(path_type=Path), default="data/crawl.db")
def hosts(store: Path) -> None:
    """Count the pages of each host."""
    with Store.open(store) as found:
        pages = Counter(page.host for page in found.pages())
    for host, count in pages.most_common():
        click.echo(f"{count}\t{host}")
