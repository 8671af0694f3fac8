"""Generated sites with pages that say "not found" with status 200, and honest look-alikes.

A site has a kind, a language, a frame (menu, footer, asides), and a page for missing URLs. That
page may name the URL, a time or a request; list popular pages, or related ones that differ each
time; be the home page, a login, an empty search or an empty category. An app is the same for all
URLs. Honest pages are thin on purpose. The sites of the two halves share no page, no frame and no
language but English: one half is for improving the code, the other for judging it.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from minicrawl.web.html.page_text import plain_text
from minicrawl.web.responses.soft_404 import missing_siblings

FOLDER = "http://a.example/shop/"
LOOKS = ("oak", "steel", "linen", "glass", "paper", "copper", "wool", "clay")
THINGS = ("lamp", "chair", "table", "shelf", "clock", "mirror", "carpet", "vase", "basket", "mug")
FRAMES = {
    "front": "<header>{site} – {line}</header><main>{main}</main><footer>{site}</footer>",
    "list": "<nav><ul>{list}</ul></nav><main>{main}</main><footer>© 2026 {site}</footer>",
    "divs": "<div class=cookies>{site} uses cookies. OK</div><div>{line}</div><div><div>{main}"
    "</div><div>{popular}</div></div><div>{site} 2026</div>",
    "bare": "{main}",
    "table": "<table><tr><td>{line}<tr><td>{crumbs}<br>{main}<td>{popular}</table>",
    "spans": "<header><span>{site}</span> {list}</header><p>{crumbs}</p>{main}"
    "<footer><p>{time}</p><p>{line}</footer>",
}


class Host(NamedTuple):
    """Texts of a host by URL: missing pages of a folder, the home page, groups of known pages."""

    missing: dict[str, str]
    home: str
    others: list[dict[str, str]]


class Case(NamedTuple):
    kind: str
    name: str
    host: Host
    url: str
    text: str
    is_soft: bool


def cases(half: str) -> Iterator[Case]:
    for site in sites(half):
        yield from site.cases()


def sites(half: str) -> "Iterator[MadeSite]":
    """Yield the sites of this half, the same ones each time."""
    words = {language: rest for language, *rest in _rows("words.txt")}
    for number, (its_half, kind, name, language, frame, missing) in enumerate(_rows("sites.txt")):
        if its_half == half:
            yield MadeSite(Random(number), kind, name, words[language], frame, missing)


def _rows(name: str) -> list[list[str]]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return [line.split("|") for line in lines if not line.startswith("#")]


class MadeSite:
    """Site whose pages are generated at random."""

    def __init__(
        self,
        random: Random,
        kind: str,
        name: str,
        words: Sequence[str],
        frame: str,
        missing: str,
    ) -> None:
        self.kind, self.name = kind, name
        self._random, self._words, self._frame, self._missing = random, words, frame, missing
        self._popular = _list(self._name_of_thing() for _ in range(8))
        self._home = f"<h1>{self._words[0]}</h1>{self._text(40)}{self._popular}"

    def cases(self) -> Iterator[Case]:
        """Yield missing pages, and then honest ones."""
        names = [self._name_of_thing() for _ in range(12)]
        host = self._host(names[:4])
        if self.kind != "shell":
            for name in names[4:10]:
                yield self._case(self.kind, name, self._answer(_url(name)), host, is_soft=True)
            removed = self._page(names[10], f"<h1>{names[10]}</h1><p>{self._words[9]}")
            yield self._case("other words", names[10], removed, host, is_soft=True)
        for kind, main in self._honest(names[11]).items():
            page = self._page(names[11], main)
            yield self._case(kind, names[11], page, host, is_soft=False)

    def missing(self, url: str) -> str:
        """Return the main part of the site's page for a missing URL."""
        path, random = url.removeprefix("http://a.example"), self._random
        related = (
            f"<div>{self._name_of_thing()}<p>{random.randint(5, 99)}.90<p>{self._words[8]}</div>"
            for _ in range(4)
        )
        return self._missing.format(
            path=path,
            title=_title(url),
            id=f"{random.getrandbits(48):012x}",
            time=f"2026-11-{random.randint(1, 28)} 12:{random.randint(10, 59)}",
            popular=self._popular,
            related="".join(related),
            search=f"<form><input name=q><button>{self._words[4]}</button></form>",
            nothing=self._words[6],
            wall=self._words[10],
            password=self._words[12],
        )

    def _host(self, names: list[str]) -> Host:
        """Return the known pages; the last one of the folder is missing."""
        home = plain_text(self._page(self._words[0], self._home, "front"))
        of_host, of_folder = {"http://a.example/": home}, {}
        for word in self._words[1:4]:
            page = self._page(word, f"<h1>{word}</h1>{self._text()}", "front")
            of_host[_url(word)] = plain_text(page)
        for name in names[:3]:
            page = self._page(name, f"<h1>{name}</h1>{self._text()}")
            of_folder[_url(name)] = plain_text(page)
        of_folder[_url(names[3])] = plain_text(self._answer(_url(names[3])))
        missing = {url: plain_text(self._answer(url)) for url in missing_siblings(FOLDER)}
        return Host(missing, home, [of_host, of_folder])

    def _case(self, kind: str, name: str, page: str, host: Host, *, is_soft: bool) -> Case:
        label = f"{self.name}: {kind}, {name}"
        return Case(kind, label, host, _url(name), plain_text(page), is_soft)

    def _honest(self, name: str) -> dict[str, str]:
        words, title = self._words, f"<h1>{name}</h1>"
        message = [line for line in plain_text(self._missing).split("\n") if "{" not in line]
        quoted = "<br>".join(message)
        return {
            "short": f"{title}{self._text(8)}",
            "about the error": f"<h1>{words[13]}</h1>{self._text(20)}<p>“{quoted}” {self._text()}",
            "quote": f"{title}{self._text(20)}<blockquote>{quoted}</blockquote>{self._text(20)}",
            "short quote": f"{title}<blockquote>{quoted}</blockquote>{self._text(16)}",
            "question": f"<h1>{message[0] if message else name}</h1>{self._text()}",
            "contact": f"<h1>{words[2]}</h1><p>Lane 4, 12345 Town<p>info@a.example",
            "empty category": f"{title}{self._text(15)}<p>{words[6]}",
            "bare category": f"{title}<p>{words[6]}",
            "thin product": f"{title}<p>12.90<p>{words[8]}",
            "sold out": f"{title}{self._text(8)}<p>12.90<p>{words[7]}",
            "pictures": title + "<img src=x.png>" * 8,
            "one picture": "<img src=x.png alt=x>",
            "page 2": f"<h1>{words[1]} – 2</h1>{_list(self._name_of_thing() for _ in range(9))}",
            "only the frame": "",
            "log in": f"<h1>{words[12]}</h1><form><input name=u></form>",
            "wall": self.missing(_url(name)) if self.kind == "wall" else f"<p>{words[10]}",
            "no comments": f"{title}{self._text(12)}<p>{words[11]}",
            "popular": f"<h1>{words[5]}</h1>{self._popular}",
            "results": f"<h1>“{name}”</h1>{_list([name, self._name_of_thing()])}",
            "number": f"<h1>404</h1><p>{name} 404",
            "home again": self._home,
        }

    def _answer(self, url: str) -> str:
        if self.kind == "home":
            return self._page(self._words[0], self._home, "front")
        return self._page(_title(url), self.missing(url))

    def _page(self, title: str, main: str, frame: str = "") -> str:
        links = [f"<a href=/{number}>{word}</a>" for number, word in enumerate(self._words[:4])]
        body = FRAMES[frame or self._frame].format(
            main=self._missing if self.kind == "shell" else main,
            site=self.name,
            list=_list(links),
            line=" | ".join(links),
            popular=self._popular,
            crumbs=f"{self._words[0]} » {title}",
            time=f"{self._random.random():.3f} s",
        )
        return f"<!doctype html><title>{title} – {self.name}</title><body>{body}"

    def _name_of_thing(self) -> str:
        look, thing = self._random.choice(LOOKS), self._random.choice(THINGS)
        return f"{look} {thing} {self._random.randint(1, 99)}"

    def _text(self, count: int = 60) -> str:
        """Return a paragraph; in scripts without spaces it has no English words."""
        if any("ぁ" <= letter <= "鿿" for letter in self._words[0]):
            return f"<p>{''.join(self._random.choices(self._words[:9], k=count))}"
        return f"<p>{' '.join(self._random.choices((*self._words[:9], *THINGS), k=count))}"


def _list(of: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{one}" for one in of) + "</ul>"


def _url(name: str) -> str:
    return f"{FOLDER}{name.replace(' ', '-')}"


def _title(url: str) -> str:
    return url.rpartition("/")[2].replace("-", " ").capitalize()
