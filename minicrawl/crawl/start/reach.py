"""Before the first request: says how servers are reached, and refuses what cannot work."""

from minicrawl.config import Network
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.fetch import reaching


async def check_reach(network: Network, tell: Listener, *, is_given: bool) -> None:
    """Raises UsageError. A transport that `is_given` by a program is not ours to judge."""
    if is_given:
        return
    reach = await reaching.check(network)
    for text in reach.notes:
        tell(Noted(text=text))
    for text in reach.warnings:
        tell(Warned(text=text))
