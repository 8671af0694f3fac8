"""Before the first request: says how servers are reached and which limits hold, and refuses what
cannot work: a way that leads nowhere, or a type of documents that nothing reads.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from minicrawl.config import Network, Scope, Settings
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.crawl.hosts.politeness import resolve_targets
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.errors import UsageError
from minicrawl.fetch import reaching
from minicrawl.web.urls import host

_FOLDERS_SHOWN = 5


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


def limits(settings: Settings, gate: ScopeGate, seeds: Iterable[str]) -> Iterator[str]:
    """What the user may not expect of the scope and the pace that they chose."""
    if found := gate.folders:
        more = f" and {len(found) - _FOLDERS_SHOWN:,} more" if len(found) > _FOLDERS_SHOWN else ""
        yield f"--scope prefix: only pages below {', '.join(found[:_FOLDERS_SHOWN])}{more}"
    polite = settings.politeness
    delay_s, apart_s = polite.delay_s, polite.address_delay_s
    if isinstance(delay_s, str) or delay_s >= apart_s:
        return
    if delay_s or not (resolve_targets(settings) or all(map(_is_of_this_machine, seeds))):
        yield (
            f"--delay {delay_s:g} s is less than --address-delay {apart_s:g} s, which holds: "
            "requests to one address are that far apart"
        )


def _is_of_this_machine(url: str) -> bool:
    name = host(url).strip("[]")
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
