"""Options of the order of results: weights, and what is asked for."""

import functools
from dataclasses import fields, replace
from typing import Any

import click

from minicrawl.cli.options import Command, Number
from minicrawl.search.commands.ranking_options import RankingChoice, ranking_options
from minicrawl.search.index_queries import FieldWeights
from minicrawl.search.ranking import RankingWeights

_MOST = 1_000_000.0
_IN_FIELDS = {
    one.name if one.name == "compound" else f"in-{one.name}": one.name
    for one in fields(FieldWeights)
}
_PARTS = [one.name for one in fields(RankingWeights) if one.name != "fields"]


class Weight(click.ParamType[tuple[str, float]]):
    """`NAME=W`: the weight of a part of the score."""

    name = "weight"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        if isinstance(value, tuple):
            return value
        name, _, weight = str(value).partition("=")
        if name not in (*_PARTS, *_IN_FIELDS):
            known = ", ".join((*_PARTS, *_IN_FIELDS))
            self.fail(f"{value!r} is not a weight such as title=0.5; there are {known}", param, ctx)
        return name, Number(0, _MOST).convert(weight, param, ctx)


_weight_option = click.option(
    "--weight",
    "weights",
    metavar="NAME=W",
    type=Weight(),
    multiple=True,
    help=f"Weight of a part of the score: {', '.join(_PARTS)}; or of a query word by its field: "
    f"{', '.join(_IN_FIELDS)}. Repeatable.",
)


def order_options(command: Command) -> Command:
    """Add the options of ranking and `--weight`; pass both to the command as `choice`."""

    @functools.wraps(command)
    def with_weights(
        *, choice: RankingChoice, weights: tuple[tuple[str, float], ...], **rest: Any
    ) -> Any:
        if choice.by is not None and choice.linear is None and weights:
            raise click.UsageError("--by alone uses no weights: add --score, or leave out --weight")
        return command(choice=replace(choice, weights=_weights(dict(weights))), **rest)

    return ranking_options(_weight_option(with_weights))


def _weights(changed: dict[str, float]) -> RankingWeights:
    usual = RankingWeights()
    inner = {_IN_FIELDS[name]: value for name, value in changed.items() if name in _IN_FIELDS}
    parts = {name: value for name, value in changed.items() if name in _PARTS}
    return replace(usual, fields=replace(usual.fields, **inner), **parts)
