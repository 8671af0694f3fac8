"""Properties that the structured data of a page lacks."""

from typing import Any

_REQUIRED: dict[str, tuple[tuple[str, ...], ...]] = {
    "product": (("name",), ("offers", "review", "aggregateRating")),
    **dict.fromkeys(("article", "newsarticle", "blogposting"), (("headline", "name"),)),
    "recipe": (("name",), ("image",)),
    "event": (("name",), ("startDate",), ("location",)),
    "breadcrumblist": (("itemListElement",),),
    "faqpage": (("mainEntity",),),
    "jobposting": (("title",), ("description",), ("datePosted",), ("hiringOrganization",)),
    "localbusiness": (("name",), ("address",)),
    "videoobject": (("name",), ("thumbnailUrl",), ("uploadDate",)),
}
"""Properties that search engines require by type, each with its alternatives."""


def data_gaps(data: Any) -> int:
    """Count items, at the top of the data and in graphs and lists there, that lack a property."""
    gaps, waiting = 0, [data]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting += item
        elif isinstance(item, dict):
            waiting.append(item.get("@graph"))
            kind = item.get("@type")
            kinds = kind if isinstance(kind, list) else [kind]
            required = [name for kind in kinds for name in _REQUIRED.get(str(kind).lower(), ())]
            gaps += not all(any(item.get(name) for name in names) for names in required)
    return gaps
