"""Before the first request: says how servers are reached, and refuses what cannot work: a way that
leads nowhere, or a type of documents that nothing reads.
"""

from minicrawl.config import Network, Scope
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.errors import UsageError
from minicrawl.fetch import reaching


def check_types(scope: Scope) -> None:
    """Raises UsageError if a package is missing that reads one of the types."""
    if "pdf" not in scope.types:
        return
    from minicrawl.web.documents import pdf

    if not pdf.is_readable():
        raise UsageError(pdf.MISSING)


async def check_reach(network: Network, tell: Listener, *, is_given: bool) -> None:
    """Raises UsageError. A transport that `is_given` by a program is not ours to judge."""
    if is_given:
        return
    reach = await reaching.check(network)
    for text in reach.notes:
        tell(Noted(text=text))
    for text in reach.warnings:
        tell(Warned(text=text))
