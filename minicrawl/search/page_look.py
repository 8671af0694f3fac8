"""Look of a search page: its title, logo text, colours and start text.

They come from options, or else from the table `page` of the file with synonyms and pins, which goes
with the store:

    [page]
    title = "Search the harbour museum"
    logo = "Harbour Museum"
    text = "12,000 pages on ships and tides."
    colors = ["link=#8a1c1c", "dark-link=#ff9e9e"]
"""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import UsageError
from minicrawl.search.words.curation import page_table
from minicrawl.wording import visible

PAGE_FOLDER = Path(__file__).parent / "page"
COLORS = ("ink", "soft", "back", "line", "link", "place", "mark", "button")
_COLOR = re.compile(rf"(dark-)?({'|'.join(COLORS)})=(#[0-9a-fA-F]{{3,8}}|[a-zA-Z]{{3,20}})")


class PageLook(NamedTuple):
    title: str
    logo: str
    text: str
    colors: Sequence[str]
    """Variables of the style sheet with their values, such as `link=#8a1c1c`."""

    def style(self) -> str:
        rules = [(PAGE_FOLDER / "public.css").read_text("utf-8")]
        for color in self.colors:
            match = _COLOR.fullmatch(color)
            if match is None:
                raise UsageError(
                    f"{visible(color)} is not a colour such as link=#8a1c1c or dark-link=#ff9e9e, "
                    f"of {', '.join(COLORS)}"
                )
            scheme = "dark" if match[1] else "light"
            rule = f":root {{ --{match[2]}: {match[3]}; }}"
            rules.append(f"@media (prefers-color-scheme: {scheme}) {{ {rule} }}\n")
        return "".join(rules)

    def static_page(self) -> str:
        page = (PAGE_FOLDER / "static.html").read_text("utf-8")
        for name, value in (("title", self.title), ("logo", self.logo), ("text", self.text)):
            page = page.replace(f"{{{name}}}", escape(visible(value)))
        return page


def page_look(folder: Path, given: Mapping[str, str | Sequence[str]], name: str) -> PageLook:
    """Return the look of the search page of an index. `name` says what it searches, or is ""."""
    look = page_table(folder) | {key: value for key, value in given.items() if value}
    title = str(look.get("title") or f"Search {name}".strip())
    colors = look.get("colors", ())
    logo, text = str(look.get("logo") or title), str(look.get("text", ""))
    return PageLook(title, logo, text, [str(color) for color in colors])
