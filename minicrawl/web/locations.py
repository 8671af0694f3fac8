"""Where the nodes of a graph are at home in a store, in which everything is an origin and a path.

Laws: a URL is where a crawl would put it; any other name, such as a host, a title or a number, is
an origin of its own and has no path. Origin and path side by side are the canonical URL, or the
name. No origin of a URL is a name: it would be a URL by itself.
"""

from minicrawl.web import urls

_SCHEMES = ("http://", "https://")

Location = tuple[str, str]
"""Origin and path."""


def location(name: str) -> Location:
    """Where a node of this name is."""
    url = urls.canonical(name, strip_marks=False)
    return (name, "") if url is None else urls.split(url)


def host_of(origin: str) -> str:
    """The host of an origin; a name that is no URL is a host by itself."""
    return urls.host(f"{origin}/") if origin.startswith(_SCHEMES) else origin
