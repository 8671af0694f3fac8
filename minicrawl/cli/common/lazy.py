"""Commands that are imported when they run, and not before.

A group lists, completes and suggests its commands by name and one line of help; only the
command that the user calls is imported. So `--help` costs the import of click alone,
however heavy the commands are.
"""

from importlib import import_module

import click


class DeferredCommand(click.Command):
    """The place of a command in its group: a name, a line of help, and where to find the rest."""

    def __init__(self, name: str, *, target: str, summary: str) -> None:
        super().__init__(name, help=summary, short_help=summary)
        self.target = target

    def load(self) -> click.Command:
        """Import the command itself from `target`, written module:attribute."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{self.target} is no click command but {type(command).__name__}")
        return command


class LazyGroup(click.Group):
    """A group whose members may be deferred: to resolve a name is to import what it stands for."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, DeferredCommand) else command, rest
