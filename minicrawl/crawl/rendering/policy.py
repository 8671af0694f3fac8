"""Learns host by host, and template by template, whether pages gain links by rendering, for
`--render auto`.

Laws: a page without scripts is not rendered. A template without gain in a few tries is not
rendered again, and neither is a host whose pages never gained anything. The table is bounded:
what it drops is learned again. For an archive that is to be replayed, a template with any scripts
is rendered, as what they fetch would be missing, unless it fetched nothing in its first tries.

template   pages of a host with the same scripts
gain       link that the page does not have without its scripts, or a redirect
"""

from collections import OrderedDict

from minicrawl.model import ParsedPage, Scripting, ScriptKind

TRIES = {ScriptKind.NONE: 1, ScriptKind.SHELL: 3, ScriptKind.SOME: 2}
"""Number of renderings of a template before it is judged."""
WORTH = 0.2
"""Least share of a template's pages that must gain."""
HOST_TRIES = 12
"""Number of renderings of a host without any gain before it is given up."""
_MOST_KNOWN = 20_000


class RenderPolicy:
    """Decides which pages to render, by earlier gains of their hosts and templates."""

    def __init__(self, *, is_for_replay: bool = False) -> None:
        self._is_for_replay = is_for_replay
        self._known = OrderedDict[tuple[str, int], tuple[int, int]]()
        """Number of pages rendered, and of those that gained."""

    def is_worth(self, host: str, scripting: Scripting) -> bool:
        if self._is_for_replay:
            rendered, gained = self._known.get((host, scripting.signature), (0, 0))
            return scripting.signature != 0 and (rendered < TRIES[scripting.kind] or gained > 0)
        if scripting.kind is ScriptKind.NONE:
            return False
        rendered, gained = self._known.get((host, 0), (0, 0))
        if not gained and rendered >= HOST_TRIES:
            return False
        rendered, gained = self._known.get((host, scripting.signature), (0, 0))
        return rendered < TRIES[scripting.kind] or gained >= WORTH * rendered

    def learn(self, host: str, scripting: Scripting, *, has_gained: bool) -> None:
        for key in {(host, 0), (host, scripting.signature)}:
            rendered, gained = self._known.pop(key, (0, 0))
            self._known[key] = rendered + 1, gained + has_gained
        while len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)


def has_gained(before: ParsedPage, after: ParsedPage) -> bool:
    """Return whether rendering brought a new link or redirect."""
    if after.refresh is not None and after.refresh != before.refresh:
        return True
    return not set(after.links) <= set(before.links)
