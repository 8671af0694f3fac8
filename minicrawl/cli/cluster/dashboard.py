"""`minicrawl dashboard --cluster`: all nodes of a cluster in the browser."""

from contextlib import closing

import click

from minicrawl.cli.cluster.gather import folder_of
from minicrawl.cluster.access import access_of
from minicrawl.cluster.dashboard_views import ClusterViews
from minicrawl.cluster.live import LiveCluster
from minicrawl.config import Cluster
from minicrawl.config.values.network_kinds import without_login
from minicrawl.dashboard.serving import Place, serve_views


def serve_cluster(cluster: Cluster, place: Place) -> None:
    """Serve the dashboard of a cluster until the process is told to end."""
    folder = folder_of(cluster)
    with closing(LiveCluster(access_of(cluster))) as live:
        views = ClusterViews(without_login(cluster.url or ""), live, folder)
        serve_views(views, folder / "cluster", place, click.echo)
