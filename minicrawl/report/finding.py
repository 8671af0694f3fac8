"""Find the page that a user means.

Law: the message about an unknown page suggests the most similar known pages.
"""

from heapq import nlargest
from itertools import takewhile

from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions
from minicrawl.web.urls import Location, canonical_seed, host_of, location, split

_NEAREST_SHOWN = 3


def page_of(snapshot: Snapshot, text: str) -> int:
    """The page with this URL, whose scheme may be missing, or the node with this name."""
    wanted = location_of(snapshot, text)
    if wanted is None:
        raise UsageError(f"{text!r} is not a URL such as https://example.org/path")
    page = questions.find(snapshot.connection, *wanted)
    if page is None:
        raise UsageError(f"{''.join(wanted)} is not in the store; {_nearest(snapshot, wanted)}")
    return page


def location_of(snapshot: Snapshot, text: str) -> Location | None:
    """The location of the URL or name in the store, known or not; None if it can have none."""
    terms = snapshot.frontier.terms
    if terms.imported:
        return location(visible(text))
    url = canonical_seed(text, strip_marks=terms.strip_marks)
    return None if url is None else split(url)


def _nearest(snapshot: Snapshot, wanted: Location) -> str:
    """The pages on the same host with the longest common prefix."""
    origin, path = wanted
    known = [
        (_common_prefix(path, other), snapshot.origins[number] + other)
        for number, name in enumerate(snapshot.hosts)
        if name == host_of(origin)
        for other in questions.paths_of(snapshot.connection, number)
    ]
    if not known:
        return f"it has no page of {host_of(origin)}"
    return "similar pages: " + ", ".join(near for _, near in nlargest(_NEAREST_SHOWN, known))


def _common_prefix(one: str, other: str) -> int:
    """The length of the longest common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
