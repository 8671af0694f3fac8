"""A filter: a function of a URL that says whether to fetch it."""


def without_queries(url: str) -> bool:
    """Return True for URLs without a query."""
    return "?" not in url
