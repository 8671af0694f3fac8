"""What `compare`, `stability` and `agree` have in common: sizes of tops, and numbers as words."""

from collections.abc import Callable, Sequence
from typing import Any

import click

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
