"""Learns host by host, and template by template, whether pages gain links by rendering, for
`--render auto`.

Laws: a page without scripts is not rendered. A template without gain in a few tries is not
rendered again, and neither is a host whose pages never gained anything. The table is bounded:
what it drops is learned again.

template   pages of a host with the same scripts
gain       link that the page does not have without its scripts, or a redirect
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from minicrawl.model import ParsedPage, Scripting, ScriptKind

TRIES = {ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Number of renderings of a template before it is judged."""
WORTH = 0.2
"""Least share of a template's pages that must gain."""
HOST_TRIES = 12
"""Number of renderings of a host without any gain before it is given up."""
_MOST_KNOWN = 20_000


@dataclass(slots=True)
class _Record:
    """Number of pages rendered, and of those that gained."""

    rendered: int = 0
    gained: int = 0


class RenderPolicy:
    """Decides which pages to render, by earlier gains of their hosts and templates."""

    def __init__(self) -> None:
        self._known = OrderedDict[tuple[str, int], _Record]()

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        if scripting.kind is ScriptKind.NONE:
            return False
        of_host = self._known.get((host, 0), _Record())
        if not of_host.gained and of_host.rendered >= HOST_TRIES:
            return False
        known = self._known.get((host, scripting.signature), _Record())
        is_tried = known.rendered >= TRIES[scripting.kind]
        return not is_tried or known.gained >= WORTH * known.rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        for key in {(host, 0), (host, scripting.signature)}:
            known = self._known.pop(key, None) or _Record()
            known.rendered += 1
            known.gained += has_gained
            self._known[key] = known
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Return whether rendering brought a new link or redirect."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)
