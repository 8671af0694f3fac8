"""Origin and path of any node of a graph, as a store keeps them.

Laws: a URL has the location that a crawl would give it. Any other name, such as a host, a title or
a number, is an origin of its own with an empty path. Origin and path together are the canonical
URL, or the name. The origin of a URL is never a name, because it would be a URL itself.
"""

from minicrawl.web import urls

_SCHEMES = ("http://", "https://")

Location = tuple[str, str]
"""Origin and path."""


def location(name: str) -> Location:
    """The location of a node with this name."""
    url = urls.canonical(name, strip_marks=False)
    return (name, "") if url is None else urls.split(url)


def host_of(origin: str) -> str:
    """The host of an origin. A name that is not a URL is its own host."""
    return urls.host(f"{origin}/") if origin.startswith(_SCHEMES) else origin
