"""Guards against collusion, for all ranks."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from minicrawl.ranks.hits.guards import Guards

Command = Callable[..., Any]

KINDS = ("internal", "transverse")


def guard_options(command: Command) -> Command:
    """Hands the command `guards`."""

    @functools.wraps(command)
    def with_guards(intra_cap: int | None, weight: Sequence[tuple[str, float]], **rest: Any) -> Any:
        return command(guards=Guards(most_of_site=intra_cap, **dict(weight)), **rest)

    cap_option = click.option(
        "--intra-cap",
        metavar="K",
        type=click.IntRange(min=0),
        help="At most so many links of one registrable domain count towards a page, those of the "
        "pages that were known first.",
    )
    weight_option = click.option(
        "--weight",
        metavar="KIND=W",
        type=_KindAndWeight(),
        multiple=True,
        help="What links count that are internal to a registrable domain, or transverse between "
        "two: internal=0 drops them; repeatable.  [default: 1]",
    )
    return cap_option(weight_option(with_guards))


class _KindAndWeight(click.ParamType[tuple[str, float]]):
    """`internal=0.5` -> ("internal", 0.5)."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        kind, _, weight = str(value).partition("=")
        try:
            return self._known(kind), float(weight)
        except ValueError:
            kinds = " or ".join(f"{kind}=W" for kind in KINDS)
            self.fail(f"{value!r} is no weight of links: use {kinds}", param, ctx)

    def _known(self, kind: str) -> str:
        if kind not in KINDS:
            raise ValueError(kind)
        return kind
