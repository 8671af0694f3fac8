"""Numbers agree with their nouns, and help is plain English."""

import re
from collections.abc import Iterator

import click
import pytest

from minicrawl.cli import COMMANDS
from minicrawl.config.table import TABLE
from minicrawl.wording import percentage, rate
from tests.readme import command_tree

STILTED = re.compile(
    r"\b(whatever|whoever|so many|so much|as it is|of before|that are there|shall)\b", re.IGNORECASE
)


def _help_texts() -> Iterator[tuple[str, str]]:
    """Yield each text of a help with its place: commands, their options, settings."""
    for path, command in command_tree().items():
        yield path, command.help or ""
        for option in command.params:
            if isinstance(option, click.Option):
                yield f"{path} {option.opts[0]}", option.help or ""
    yield from ((f"setting {row.name}", row.help) for row in TABLE)
    yield from ((f"summary of {name}", summary) for name, (_, summary) in COMMANDS.items())


def test_help_has_no_stilted_phrases() -> None:
    texts = dict(_help_texts())
    assert len(texts) > len(TABLE) + len(COMMANDS)
    assert {place: text for place, text in texts.items() if STILTED.search(text)} == {}


@pytest.mark.parametrize(
    ("per_second", "said"),
    [
        *((0, "0/s"), (0.004, "0.004/s"), (0.25, "0.25/s"), (0.5, "0.5/s"), (1.04, "1/s")),
        *((1.5, "1.5/s"), (9.4, "9.4/s"), (9.6, "10/s"), (12.4, "12/s"), (1234.4, "1,234/s")),
    ],
)
def test_a_rate_is_rounded_and_never_to_zero(per_second: float, said: str) -> None:
    assert rate(per_second) == said


def test_only_a_whole_is_a_hundred_percent() -> None:
    assert [percentage(share) for share in (None, 0.4123, 0.99951, 1 - 1e-12, 1.0)] == [
        "-",
        "41.2%",
        "99.9%",
        "99.9%",
        "100.0%",
    ]
