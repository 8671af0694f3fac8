"""Which page a person means.

Law: what is not known is told in one line with what is known nearest to it.
"""

from heapq import nlargest
from itertools import takewhile

from minicrawl.errors import UsageError
from minicrawl.export.cells import visible
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions
from minicrawl.web.homes import Home, home, host
from minicrawl.web.urls import seed, split

_NEAREST_SHOWN = 3


def page_of(snapshot: Snapshot, text: str) -> int:
    """The page of this URL, which may lack its scheme; or the node of this name."""
    wanted = _home(snapshot, text)
    page = questions.find(snapshot.connection, *wanted)
    if page is None:
        raise UsageError(f"{''.join(wanted)} is not known; {_nearest(snapshot, wanted)}")
    return page


def _home(snapshot: Snapshot, text: str) -> Home:
    terms = snapshot.frontier.terms
    if terms.imported:
        return home(visible(text))
    url = seed(text, strip_marks=terms.strip_marks)
    if url is None:
        raise UsageError(f"{text!r} is no URL of a page: write it as https://example.org/path")
    return split(url)


def _nearest(snapshot: Snapshot, wanted: Home) -> str:
    """The pages of the same host that begin most like it."""
    origin, path = wanted
    known = [
        (_common(path, other), snapshot.origins[number] + other)
        for number, name in enumerate(snapshot.hosts)
        if name == host(origin)
        for other in questions.paths_of(snapshot.connection, number)
    ]
    if not known:
        return f"no page of {host(origin)} is"
    return "known on its host: " + ", ".join(near for _, near in nlargest(_NEAREST_SHOWN, known))


def _common(one: str, other: str) -> int:
    """How many characters two paths begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
