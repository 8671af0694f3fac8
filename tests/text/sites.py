"""News site with known main text, amid consent notices, menus, teasers and comments."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

_SYLLABLES = [c + v for c in "bdfghjklmnprstvwz" for v in "aeiou"]
_CONSENT = (
    "We and our partners store cookies on your device, unless you withdraw your consent. " * 3
)
_FOOT = "All rights reserved. Reprints need the written consent of the publisher, as always. " * 3
_TEASERS, _MOST_COMMENTS = 8, 14


class Article(NamedTuple):
    title: str
    paragraphs: list[str]

    @property
    def text(self) -> str:
        return "\n".join([self.title, *self.paragraphs])


class SitePage(NamedTuple):
    """Page of the site, and its main text."""

    markup: str
    main: str


def pages(count: int, *, is_veiled: bool) -> Iterator[SitePage]:
    """Yield the pages of a site; if veiled, it uses only `div` and meaningless class names."""
    rng = Random(count)
    articles = [
        Article(_sentence(rng), [_paragraph(rng) for _ in range(rng.randint(4, 12))])
        for _ in range(count)
    ]
    box = _veiled if is_veiled else _named
    for article in articles:
        others = rng.sample([one for one in articles if one is not article], _TEASERS)
        teasers = "".join(
            box("div", "teaser", f"<h3><a href=/x>{one.title}</a></h3><p>{one.paragraphs[0]}")
            for one in others
        )
        comments = "".join(
            box("div", "comment", f"<p>{_paragraph(rng)}")
            for _ in range(rng.randint(0, _MOST_COMMENTS))
        )
        story = f"<h1>{article.title}</h1><p>" + "<p>".join(article.paragraphs)
        layout = (
            box("article", "story", story)
            + box("aside", "teasers", f"<h2>More from the paper</h2>{teasers}")
            + box("section", "comments", f"<h2>Comments</h2>{comments}")
        )
        menu = "".join(f"<li><a href=/{name}>{name}</a>" for name in ("home", "world", "sport"))
        markup = (
            box("div", "consent", f"<p>{_CONSENT}")
            + box("nav", "menu", f"<ul>{menu}</ul>")
            + box("main", "layout", layout)
            + box("footer", "footer", f"<p>{_FOOT}")
        )
        yield SitePage(f"<body>{markup}</body>", article.text)


def _named(tag: str, name: str, inside: str) -> str:
    return f"<{tag} class={name}>{inside}</{tag}>"


def _veiled(_tag: str, name: str, inside: str) -> str:
    letters = "".join(chr(ord("f") + ord(letter) % 20) for letter in name)
    return f"<div class=css-{letters}>{inside}</div>"


def _sentence(rng: Random) -> str:
    words = ["".join(rng.choices(_SYLLABLES, k=rng.randint(1, 4))) for _ in range(12)]
    return f"{' '.join(words).capitalize()}."


def _paragraph(rng: Random) -> str:
    return " ".join(_sentence(rng) for _ in range(rng.randint(2, 5)))
