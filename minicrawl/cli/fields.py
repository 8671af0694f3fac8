"""The option `--field NAME=SELECTOR`: columns of one's own, from the markup of kept pages."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import click

from minicrawl.cli.parameters import option

_NAME = re.compile(r"[A-Za-z_]\w{0,99}")


def field_option(text: str) -> Any:
    """Declare the option, which can be given several times."""
    return option(
        f"{text} SELECTOR is CSS (.price, img@src), XPath (//h1), jsonld:offers.price or "
        "meta:og:title. Can be given several times.",
        (),
        flag="--field",
        metavar="NAME=SELECTOR",
        multiple=True,
    )


def fields_of(written: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return the selectors by name. Refuse one that cannot be read, and a name that is taken."""
    fields = dict[str, str]()
    for text in written:
        name, equals, selector = text.partition("=")
        if not equals or not _NAME.fullmatch(name.strip()):
            raise click.UsageError(f"--field {text}: use NAME=SELECTOR, as in price=.price")
        if name.strip() in (*taken, *fields):
            raise click.UsageError(f"--field {text}: there is a column {name.strip()} already")
        fields[name.strip()] = selector.strip()
    if fields:
        from minicrawl.report.archived.page_texts import field_maker

        for selector in fields.values():
            field_maker(selector)
    return fields
