"""Fields of a page by selectors, for `export --field NAME=SELECTOR` and `page --field`.

    .price               CSS: the text of the first element with any
    img.photo@src        the value of an attribute; URLs are resolved
    //h1[@id='t']/@lang  XPath, as far as CSS can say it: steps, attributes, positions
    jsonld:offers.price  a property of the page's JSON-LD
    meta:og:title        a `meta` element, by name or property

A value is text on one line, and "" where the page has none. A selector that cannot be read is
refused when the field is made, before any page.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from minicrawl.errors import UsageError, needs
from minicrawl.text.boxes import parse
from minicrawl.text.metadata import said
from minicrawl.text.structured_data import json_ld, shown
from minicrawl.web.urls import canonical

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_LONGEST, _MOST_ELEMENTS, _DEEPEST = 10_000, 100, 20
_URLS = frozenset(("href", "src", "action", "poster"))
_ATTRIBUTE = re.compile(r"(.*?)@([\w-]+)")
_STEP = re.compile(r"(//?)([\w-]+|\*)((?:\[[^\[\]]+\])*)")
_PREDICATES = (
    (re.compile(r"\[(\d+)\]"), r":nth-of-type(\1)"),
    (re.compile(r"\[@([\w-]+)\s*(=\s*(?:'[^']*'|\"[^\"]*\"))?\]"), r"[\1\2]"),
    (re.compile(r"\[contains\(\s*@([\w-]+)\s*,\s*('[^']*'|\"[^\"]*\")\s*\)\]"), r"[\1*=\2]"),
)
"""Conditions of XPath, and how CSS says them."""
_END_OF_PATH = re.compile(r"/(?:text\(\)|@([\w-]+))\Z")
_PATH = re.compile(r"[^.\s[\]]+(?:\.[^.\s[\]]+)*")


def field(selector: str) -> Callable[[str, str], str]:
    """Return the function of markup and URL that a selector means. Raise `UsageError`."""
    kind, _, expression = selector.partition(":")
    if kind == "jsonld":
        if not _PATH.fullmatch(expression):
            raise UsageError(f"{selector!r} is no path such as jsonld:offers.price")
        path = expression.split(".")
        return lambda markup, _url: next(
            filter(None, map(_line, _at([*json_ld(parse(markup))], path, 0))), ""
        )
    if kind == "meta":
        if not expression.strip():
            raise UsageError(f"{selector!r} names no meta element, as meta:og:title does")
        return lambda markup, _url: next(filter(None, said(markup, "meta", expression.lower())), "")
    css, attribute = selector, ""
    if selector[:1] == "/":
        css, attribute = _css_of(selector)
    elif parts := _ATTRIBUTE.fullmatch(selector.strip()):
        css, attribute = parts[1] or "*", parts[2].lower()
    with needs("text", "fields"):
        from selectolax.lexbor import SelectolaxError
    try:
        parse("<p>").css(css)
    except SelectolaxError as error:
        ways = "CSS (.price, img@src), XPath (//h1), jsonld:offers.price or meta:og:title"
        raise UsageError(f"{selector!r} cannot be read; write {ways}") from error
    return lambda markup, url: _of_elements(parse(markup), css, attribute, url)


def _css_of(path: str) -> tuple[str, str]:
    """Return the CSS selector of an XPath, and its attribute."""
    end = _END_OF_PATH.search(path)
    attribute = (end[1] or "").lower() if end else ""
    steps = path[: end.start()] if end else path
    css = ""
    for step, tag, conditions in _STEP.findall(steps):
        css += f"{' > ' if step == '/' and css else ' '}{tag}{conditions}"
    for condition, same in _PREDICATES:
        css = condition.sub(same, css)
    if _STEP.sub("", steps) or "[@" in css or not css:
        raise UsageError(f"{path!r} is an XPath beyond steps, attributes and positions: use CSS")
    return css.strip(), attribute


def _of_elements(tree: "LexborHTMLParser", css: str, attribute: str, url: str) -> str:
    for node in tree.css(css)[:_MOST_ELEMENTS]:
        value = (node.attributes.get(attribute) or "") if attribute else shown(node)
        if line := _line(value):
            return (canonical(line, url) or line) if attribute in _URLS else line
    return ""


def _at(data: object, path: list[str], depth: int) -> Iterator[str]:
    """Yield the texts at a path; lists, and the graph around things, are no steps of it."""
    if depth > _DEEPEST:
        return
    if isinstance(data, list):
        for item in data[:_MOST_ELEMENTS]:
            yield from _at(item, path, depth + 1)
    elif isinstance(data, dict):
        name, below = (path[0], path[1:]) if path else ("name", [])
        yield from _at(data.get(name), below, depth + 1)
        yield from _at(data.get("@graph"), path, depth + 1)
    elif data is not None and not path:
        yield data if isinstance(data, str) else json.dumps(data)


def _line(text: str) -> str:
    return " ".join(text[:_LONGEST].split())
