"""Whether a page gains links by being rendered: learnt host by host, template by template.

Laws: a page without scripts is never rendered. A template that has brought nothing in a few tries
is not rendered again, and a host whose pages never gained anything is left alone. What is known is
bounded; what is forgotten is learnt again.

template   pages of a host whose scripts are the same
gain       a link that the page does not have without its scripts, or a redirect
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from minicrawl.model import ParsedPage, Scripting, ScriptKind

TRIES = {ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Of a template, until it is known whether it gains."""
WORTH = 0.2
"""A template is rendered on while so large a share of its pages gains."""
HOST_TRIES = 12
"""Of a host whose pages have never gained."""
_MOST_KNOWN = 20_000


@dataclass(slots=True)
class _Record:
    """What came of renderings."""

    rendered: int = 0
    gained: int = 0


class RenderPolicy:
    """What is known of hosts and of their templates."""

    def __init__(self) -> None:
        self._known = OrderedDict[tuple[str, int], _Record]()

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        """Whether to render a page with these scripts."""
        if scripting.kind is ScriptKind.NONE:
            return False
        of_host = self._known.get((host, 0), _Record())
        if not of_host.gained and of_host.rendered >= HOST_TRIES:
            return False
        known = self._known.get((host, scripting.signature), _Record())
        is_tried = known.rendered >= TRIES[scripting.kind]
        return not is_tried or known.gained >= WORTH * known.rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        """A page with these scripts was rendered."""
        for key in {(host, 0), (host, scripting.signature)}:
            known = self._known.pop(key, None) or _Record()
            known.rendered += 1
            known.gained += has_gained
            self._known[key] = known
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Whether rendering brought something that leads on."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)
