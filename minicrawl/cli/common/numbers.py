"""Numbers that options take."""

import math
from typing import Any

import click


class Number(click.FloatRange):
    """A number within bounds, which nan and infinity are not."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is not a number of the range", param, ctx)
        return number
