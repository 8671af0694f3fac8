"""`minicrawl rank`: link analysis of a whole graph, with one command for each rank."""

import click

from minicrawl import plugins
from minicrawl.cli import DeferredCommand, LazyGroup

# The name of each command -> where it is, and its line in `minicrawl rank --help`.
COMMANDS = {
    "list": (
        "minicrawl.ranks.commands.running:list_ranks",
        "List the ranks that were made.",
    ),
    "degree": ("minicrawl.ranks.commands.centrality:degree", "By the number of links."),
    "pagerank": ("minicrawl.ranks.commands.pagerank:pagerank", "By PageRank."),
    "trust": ("minicrawl.ranks.commands.centrality:trust", "By TrustRank, from trusted pages."),
    "hits": ("minicrawl.ranks.commands.hits:hits", "By HITS: hubs and authorities."),
    "communities": (
        "minicrawl.ranks.commands.hits:communities",
        "Find groups of hubs and authorities.",
    ),
    "harmonic": ("minicrawl.ranks.commands.centrality:harmonic", "By harmonic centrality."),
    "sites": ("minicrawl.ranks.commands.centrality:sites", "Rank sites by the links between them."),
}


class RankGroup(LazyGroup):
    """The ranks, and those that packages add."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        built_in = super().get_command(ctx, cmd_name)
        point = None if built_in else plugins.entry_points(plugins.RANKS).get(cmd_name)
        return built_in if point is None else AddedRank(cmd_name, point.package)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all of them."""
        return [*super().list_commands(ctx), *plugins.entry_points(plugins.RANKS)]


class AddedRank(DeferredCommand):
    """A rank of a package; its command is made when it is called."""

    def __init__(self, name: str, package: str) -> None:
        super().__init__(name, target="", summary=f"A rank of the package {package}.")

    def load(self) -> click.Command:
        """The command, with the options that all ranks have."""
        from minicrawl.ranks.commands.running import command_of_added_rank

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

    The graph is that of a crawl or of a file. The scores of a store are saved beside it, for `top
    --by`, `export --ranks` and `explain`.
    """
