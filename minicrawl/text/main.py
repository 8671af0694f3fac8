"""Parsers of main text, as text and as Markdown, and of its language, for `minicrawl.parsers`.

A text is better if the site of the page is known: see `site_places`.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from minicrawl.errors import needs
from minicrawl.text.boxes import Box, runs
from minicrawl.text.choice import main_boxes
from minicrawl.text.main_box import NO_PLACES, SitePlaces
from minicrawl.text.markdown import markdown
from minicrawl.text.site_places import learned

_FEWEST_LETTERS = 20
"""Minimum number of letters for a detection."""
_MOST_FOR_LANGUAGE = 2000
"""Maximum characters to read; more would not change the result."""


def language_of(text: str) -> str:
    """Return the ISO 639-1 code of the language, such as `de`; "" if there is too little text.

    py3langid was the best of six libraries in 47 languages: right for .974 of texts of 50
    characters and .996 of 200, in .1 ms. Its model takes 100 MB, so it is loaded on the first call.
    """
    beginning = text[:_MOST_FOR_LANGUAGE]
    if sum(map(str.isalpha, beginning)) < _FEWEST_LETTERS:
        return ""
    with needs("text", "detection of languages"):
        from py3langid import classify

    return str(classify(beginning)[0])


_main_boxes = lru_cache(1)(main_boxes)  # for a page of which several texts are made


class SiteText:
    """Parser that makes a text of the boxes of pages; better if it knows their site."""

    def __init__(
        self, make: Callable[[list[Box], str], str], places: SitePlaces = NO_PLACES
    ) -> None:
        self._make, self._places = make, places

    def __call__(self, markup: str, url: str) -> str:
        return self._make(_main_boxes(markup, self._places), url)

    def for_site(self, pages: Sequence[str]) -> "SiteText":
        """Return the parser for the site of these pages."""
        return SiteText(self._make, learned(tuple(pages)))


def main_text(boxes: Iterable[Box]) -> str:
    """Return the main text of a page, a block a line."""
    return "\n".join([run.text for run in runs(boxes) if run.text])


MAIN = SiteText(lambda boxes, _url: main_text(boxes))
MARKDOWN = SiteText(markdown)
LANGUAGE = SiteText(lambda boxes, _url: language_of(main_text(boxes)))
