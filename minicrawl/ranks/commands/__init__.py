"""`minicrawl rank`: link analysis of a whole graph, with one command for each rank."""

from pathlib import Path

import click

from minicrawl import ext
from minicrawl.cli import DeferredCommand, LazyGroup
from minicrawl.cli.options import given_options
from minicrawl.cli.store_options import json_option, store_option

# name -> module with a command of this name, and summary in `minicrawl rank --help`
COMMANDS = {
    "degree": ("centrality_command", "Rank by number of links."),
    "pagerank": ("pagerank_command", "Rank by PageRank."),
    "trust": ("trust_command", "Rank by TrustRank, from trusted pages."),
    "hits": ("hits_command", "Rank by HITS: hubs and authorities."),
    "communities": ("communities_command", "Find communities of hubs and authorities."),
    "harmonic": ("centrality_command", "Rank by harmonic centrality."),
    "sites": ("sites_command", "Rank sites by PageRank of their links."),
}


class RankGroup(LazyGroup):
    """Group of rank commands, including those of packages."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        built_in = super().get_command(ctx, cmd_name)
        point = None if built_in else ext.entry_points(ext.RANKS).get(cmd_name)
        return built_in if point is None else AddedRank(cmd_name, point.package)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(dict.fromkeys((*super().list_commands(ctx), *ext.entry_points(ext.RANKS))))


class AddedRank(DeferredCommand):
    """Rank of a package; its command is made on demand."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name, target="", summary=f"A rank of the package {package}.")

    def load(self) -> click.Command:
        """Make the command, with the options of all ranks."""
        from minicrawl.ranks.commands.running import command_of_added_rank

        return command_of_added_rank(str(self.name))


@click.group(
    cls=RankGroup,
    commands=[
        DeferredCommand(name, target=f"{__name__}.{module}:{name}", summary=summary)
        for name, (module, summary) in COMMANDS.items()
    ],
    invoke_without_command=True,
)
@click.option(
    "--remove",
    "removed",
    metavar="NAME",
    multiple=True,
    help="Delete this rank, then list the others. Repeatable.",
)
@json_option
@store_option
@click.pass_context
def rank(context: click.Context, store: Path, removed: tuple[str, ...], as_json: bool) -> None:
    """Rank pages by the link graph, or list the saved ranks.

    The graph comes from a crawl or a file. Scores are saved beside the store, for `top --by`,
    `export --ranks` and `explain`. Without a command, the saved ranks are listed with their
    options, and whether they are up to date.
    """
    if context.invoked_subcommand is None:
        from minicrawl.ranks.commands.list_ranks import list_ranks

        list_ranks(store, removed, as_json)
        return
    if flags := list(given_options().values()):
        raise click.UsageError(
            f"{flags[0]} before {context.invoked_subcommand!r} has no effect: write it after the "
            "name of the rank"
        )
