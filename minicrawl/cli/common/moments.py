"""Times as users write them: a day, a time of a day, or for how long."""

import time
from typing import Any

import click

from minicrawl.config.values import quantities
from minicrawl.errors import UsageError


class Moment(click.ParamType[float]):
    """A time in seconds since 1970."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from minicrawl.report.archived.pages import (
            moment,  # it imports the readers of all documents
        )

        is_number = quantities.finite_number(value) is not None
        ago_s = None if is_number else quantities.seconds(value)
        if ago_s is not None:
            return time.time() - ago_s
        try:
            return moment(str(value))
        except UsageError as error:
            self.fail(f"{error}, and not for how long, such as 7d", param, ctx)
