"""`minicrawl rank`: link analysis of a whole graph, with one command for each rank."""

import click

from minicrawl import plugins
from minicrawl.cli import DeferredCommand, LazyGroup

# name -> target to import, and summary in `minicrawl rank --help`
COMMANDS = {
    "list": (
        "minicrawl.ranks.commands.named_ranks:list_ranks",
        "List saved ranks.",
    ),
    "degree": ("minicrawl.ranks.commands.centrality_command:degree", "Rank by number of links."),
    "pagerank": ("minicrawl.ranks.commands.pagerank_command:pagerank", "Rank by PageRank."),
    "trust": (
        "minicrawl.ranks.commands.centrality_command:trust",
        "Rank by TrustRank, from trusted pages.",
    ),
    "hits": ("minicrawl.ranks.commands.hits_command:hits", "Rank by HITS: hubs and authorities."),
    "communities": (
        "minicrawl.ranks.commands.hits_command:communities",
        "Find communities of hubs and authorities.",
    ),
    "harmonic": (
        "minicrawl.ranks.commands.centrality_command:harmonic",
        "Rank by harmonic centrality.",
    ),
    "sites": (
        "minicrawl.ranks.commands.centrality_command:sites",
        "Rank sites by PageRank of their links.",
    ),
}


class RankGroup(LazyGroup):
    """Group of rank commands, including those of packages."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command with this name."""
        built_in = super().get_command(ctx, cmd_name)
        point = None if built_in else plugins.entry_points(plugins.RANKS).get(cmd_name)
        return built_in if point is None else AddedRank(cmd_name, point.package)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all ranks."""
        return [*super().list_commands(ctx), *plugins.entry_points(plugins.RANKS)]


class AddedRank(DeferredCommand):
    """Rank of a package; its command is made on demand."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name, target="", summary=f"A rank of the package {package}.")

    def load(self) -> click.Command:
        """Make the command, with the options of all ranks."""
        from minicrawl.ranks.commands.rank_options import command_of_added_rank

        return command_of_added_rank(str(self.name))


@click.group(
    cls=RankGroup,
    commands=[
        DeferredCommand(name, target=target, summary=summary)
        for name, (target, summary) in COMMANDS.items()
    ],
)
def rank() -> None:
    """Rank pages by the link graph.

    The graph comes from a crawl or a file. Scores are saved beside the store, for `top --by`,
    `export --ranks` and `explain`.
    """
