"""Examples in the help of commands can be typed as they are."""

import shlex

import click
import pytest

from minicrawl.cli import PROGRAM, root
from minicrawl.cli.examples import EXAMPLES
from tests.cli.calls import Captured, printed
from tests.readme import context_of

COMMANDS = root.list_commands(click.Context(root))


def test_each_help_shows_three_examples(capsys: Captured) -> None:
    for name in set(COMMANDS) & set(EXAMPLES):
        assert len(set(EXAMPLES[name])) == 3
        shown = printed(capsys, name, "--help")
        assert all(f"\n    {line}\n" in shown for line in EXAMPLES[name])


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_can_be_parsed(line: str) -> None:
    program, *words = shlex.split(line.partition(" > ")[0])
    assert program == PROGRAM
    context = context_of(root, PROGRAM)
    command: click.Command = root
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        _, found, words = command.resolve_command(context, words)
        assert found is not None
        settings = found.context_settings
        context = click.Context(found, parent=context, info_name=found.name, **settings)
        command = found
    command.make_parser(context).parse_args(words)


def test_the_help_names_every_command_once(capsys: Captured) -> None:
    lines = printed(capsys, "--help").splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]
    assert sorted(word for word in listed if word in COMMANDS) == sorted(set(COMMANDS))
