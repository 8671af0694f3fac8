"""Every example in a help is a command as it is."""

import shlex

import click
import pytest

from minicrawl.cli import PROGRAM, main, root
from minicrawl.cli.examples import EXAMPLES
from tests.readme import context_of

Captured = pytest.CaptureFixture[str]
COMMANDS = root.list_commands(click.Context(root))


def test_every_command_has_three_examples_and_shows_them(capsys: Captured) -> None:
    for name in set(COMMANDS) & set(EXAMPLES):
        assert len(set(EXAMPLES[name])) == 3
        assert main([name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert all(f"\n    {line}\n" in shown for line in EXAMPLES[name])


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_an_example_has_options_that_there_are(line: str) -> None:
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
    assert main(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(set(COMMANDS)) == sorted(
        word
        for line in lines
        if line.startswith("  ")
        for word in line.split()[:1]
        if word in COMMANDS
    )
