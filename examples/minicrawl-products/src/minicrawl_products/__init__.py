"""A parser: the product of a page as JSON; empty text for a page without a product.

    minicrawl crawl https://shop.example/ --scope host
    minicrawl export products.jsonl --with product

It reads schema.org products as shops write them for search engines: JSON-LD, else microdata.
minicrawl runs parsers in a process of their own and limits their time and memory.
"""

import json
from collections.abc import Iterator
from typing import Any

from lxml import etree, html

FIELDS = ("name", "sku", "price", "priceCurrency", "availability")


def product(markup: str, _url: str) -> str:
    """Return the first product of a page as a JSON object, or "" if it has none with a name."""
    try:
        page = html.document_fromstring(markup.encode(), parser=html.HTMLParser(encoding="utf-8"))
    except etree.ParserError:  # an empty page
        return ""
    found = next(_in_json(page), None) or _in_microdata(page)
    fields = {name: " ".join(str(found[name]).split()) for name in FIELDS if found.get(name)}
    return json.dumps(fields, ensure_ascii=False) if "name" in fields else ""


def _in_json(page: html.HtmlElement) -> Iterator[dict[str, Any]]:
    """Yield the products in JSON-LD, each with the fields of its first offer."""
    for script in page.iterfind(".//script[@type='application/ld+json']"):
        try:
            values = [json.loads(script.text or "")]
        except (ValueError, RecursionError):
            continue
        while values:
            match values.pop():
                case list(parts):
                    values.extend(reversed(parts))
                case {"@type": "Product" | ["Product", *_], **item}:
                    offer = item.get("offers")
                    offer = offer[0] if isinstance(offer, list) and offer else offer
                    yield item | (offer if isinstance(offer, dict) else {}) | _names(item)
                case {"@graph": parts}:
                    values.append(parts)


def _names(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that an offer, which may have its own, must not replace."""
    return {name: item[name] for name in ("name", "sku") if name in item}


def _in_microdata(page: html.HtmlElement) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in page.iterfind(".//*[@itemtype]"):
        if item.get("itemtype", "").endswith("schema.org/Product"):
            for part in item.iterfind(".//*[@itemprop]"):
                value = part.get("content") or part.get("href") or part.text_content()
                found.setdefault(part.get("itemprop"), value)
            break
    return found
