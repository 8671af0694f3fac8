"""`minicrawl control --cluster`: the crawl of all nodes is paused, stopped, or gets more pages."""

from collections.abc import Awaitable, Callable

from minicrawl.cli.cluster.engines import with_engine
from minicrawl.cli.cluster.status import facts_of
from minicrawl.cli.common.tables import show_facts, show_json
from minicrawl.cluster import wishes
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.overview import ClusterStatus, overview
from minicrawl.config import Cluster
from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME
from minicrawl.control.requests import ControlRequest, Verb
from minicrawl.errors import UsageError

_WISHES: dict[Verb, Callable[[ClusterEngine], Awaitable[object]]] = {
    Verb.PAUSE: wishes.pause,
    Verb.RESUME: wishes.resume,
    Verb.STOP: wishes.stop,
}
_INSTEAD = {
    "workers": "minicrawl cluster workers NODE N changes those of a node",
    "add": "stop the crawl, then start it with more SEEDS",
}
_OTHERWISE = "stop the crawl, then start it with another value"


def steer(cluster: Cluster, action: str, request: ControlRequest, *, as_json: bool) -> None:
    """Do it, and show the cluster as it is then."""

    async def work(engine: ClusterEngine) -> ClusterStatus:
        await _do(engine, action, request)
        return await overview(engine)

    found = with_engine(cluster, work)
    if as_json:
        show_json(found.as_json())
    else:
        show_facts(facts_of(found))


async def _do(engine: ClusterEngine, action: str, request: ControlRequest) -> None:
    if (wish := _WISHES.get(request.verb)) is not None:
        await wish(engine)
    elif action == "pages":
        pages = Given((request.values or {})["pages"], "pages", " ").read_as(BY_NAME["pages"])
        assert pages is None or isinstance(pages, int)
        await wishes.set_pages(engine, pages)
    elif request.verb is not Verb.SHOW:
        raise UsageError(f"control {action} --cluster: {_INSTEAD.get(action, _OTHERWISE)}")
