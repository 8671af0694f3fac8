"""Commands that are imported only when they run.

A group lists, completes and suggests its commands by their names and a line of help each. Only the
command that the user calls is imported, so `--help` imports nothing but click.
"""

from importlib import import_module

import click


class DeferredCommand(click.Command):
    """A placeholder for a command: its name, a line of help, and where to import it from."""

    def __init__(self, name: str, *, target: str, summary: str) -> None:
        super().__init__(name, help=summary, short_help=summary)
        self.target = target

    def load(self) -> click.Command:
        """Import the command from `target`, which is written as module:attribute."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is not a click command but {type(command).__name__}")
        return command


class LazyGroup(click.Group):
    """A group with deferred commands: resolving a name imports the command."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, DeferredCommand) else command, rest
