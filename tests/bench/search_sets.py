"""Queries with known answers, from the indexes and titles of the manuals.

Laws: the right pages of an index entry are those that it links to, and of a title the pages with
this title. Index pages are not searched, because their links would give the answers away. The
words of a query decide whether it is in the half for fitting or in the half for judging.
"""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple
from urllib.parse import unquote, urldefrag, urljoin
from zlib import crc32

from lxml import html
from lxml.html import HtmlElement

from minicrawl.web.words import words_of

ROOTS = {
    "java": Path("/usr/share/doc/openjdk-17-jre-headless/api"),
    "boost": Path("/usr/share/doc/libboost1.74-doc/doc/html"),
    "postgresql": Path("/usr/share/doc/postgresql-doc-15/html"),
    "python": Path("/usr/share/doc/python3.11/html"),
    "sqlite": Path("/usr/share/doc/sqlite3"),
    "git": Path("/usr/share/doc/git-doc"),
}
INDEX_PAGES = (
    "genindex*",
    "bookindex*",
    "py-modindex*",
    "index-files",
    "allclasses-index*",
    "keyword_index*",
    "doc_keyword_crossref*",
)
_FEWEST_LETTERS = 3
_END_OF_TITLES = (" — Python", " (Java SE", " - Boost ")
_KINDS = frozenset(("C", "in", "function", "functions", "class", "module", "method", "attribute"))
_KINDS |= frozenset(("type", "member", "macro", "var", "exception", "built-in", "package"))
_KINDS |= frozenset(("command", "line", "option"))
_SEED = 23


class Known(NamedTuple):
    """Query, and the URLs of its right pages."""

    words: str
    answers: frozenset[str]

    @property
    def is_to_judge(self) -> bool:
        """True if the query is in the half for judging."""
        return crc32(self.words.encode()) % 2 == 1


def copied(folder: Path) -> dict[str, Path]:
    """Make folders of symbolic links to the manuals, without their index pages."""
    for site, root in ROOTS.items():
        if root.is_dir():
            shutil.copytree(
                root.resolve(),
                folder / site,
                copy_function=lambda file, copy: Path(copy).symlink_to(Path(file).resolve()),
                ignore=shutil.ignore_patterns(*INDEX_PAGES),
                dirs_exist_ok=True,
            )
    return {site: folder / site for site in ROOTS if (folder / site).is_dir()}


def entries(origins: Mapping[str, str], known: set[str], count: int) -> list[Known]:
    """Return entries of the manuals' indexes, about equally many of each."""
    readers = {"java": _of_java, "postgresql": _of_postgresql, "python": _of_python}
    found = []
    for site, reader in readers.items():
        answers: dict[str, set[str]] = defaultdict(set)
        for words, href in reader(ROOTS[site]) if site in origins else ():
            url = urldefrag(urljoin(f"{origins[site]}/", href)).url
            if url in known and _is_query(words):
                answers[words].add(url)
        found += _some(answers, count // len(readers))
    return found


def titles(pages: Mapping[str, str], count: int) -> list[Known]:
    """Return titles of pages, about equally many of each site; `pages` has them by URL."""
    by_site: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for url, title in pages.items():
        words = _without_end(title)
        if _is_query(words):
            by_site[url.split("/")[2]][words].add(url)
    return [
        one for answers in by_site.values() for one in _some(answers, count // max(len(by_site), 1))
    ]


def _some(answers: Mapping[str, set[str]], count: int) -> list[Known]:
    found = [Known(words, frozenset(urls)) for words, urls in sorted(answers.items())]
    return Random(_SEED).sample(found, min(count, len(found)))


def _is_query(text: str) -> bool:
    if any(part.startswith("-") or ":" in part or '"' in part for part in text.split()):
        return False  # it would be syntax
    return any(len(word) >= _FEWEST_LETTERS and word.isalpha() for word in words_of(text))


def _without_end(title: str) -> str:
    for end in _END_OF_TITLES:
        title = title.partition(end)[0]
    return " ".join(title.split())


def _page(file: Path) -> HtmlElement:
    return html.fromstring(file.read_bytes())


def _of_python(root: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(root.glob("genindex-?.html")):
        for item in _page(file).xpath("//table[contains(@class,'indextable')]//li"):
            above = item.xpath("ancestor::li[1]/text()[1] | ancestor::li[1]/a[1]/text()")
            term = "".join(above).partition(" (")[0]
            links = item.xpath("./a")
            for link in links:
                words = f"{term} {links[0].text_content()}"
                yield _plain(words), unquote(link.get("href"))


def _plain(entry: str) -> str:
    """Return the words that a reader would type: without group headings and kinds of objects."""
    for group in ("Python Enhancement Proposals", "RFC RFC"):
        entry = entry.replace(group, group.split()[-1] if group.startswith("RFC") else "")
    return " ".join(word for word in entry.split() if word.strip("()") not in _KINDS)


def _of_postgresql(root: Path) -> Iterator[tuple[str, str]]:
    for entry in _page(root / "bookindex.html").xpath("//dt"):
        above = entry.xpath("ancestor::dd[1]/preceding-sibling::dt[1]")
        name = " ".join(part for one in (*above, entry) if (part := _term(one)))
        for link in entry.xpath("./a[@class='indexterm']"):
            yield name, link.get("href")


def _term(entry: HtmlElement) -> str:
    before = "".join(entry.xpath(".//text()")).partition(",")[0]
    return " ".join(before.split())


def _of_java(root: Path) -> Iterator[tuple[str, str]]:
    for file in sorted((root / "index-files").glob("index-*.html")):
        for entry in _page(file).xpath("//dt"):
            names = entry.xpath("./a")
            if len(names) > 1:
                words = f"{names[0].text_content()} {names[-1].text_content()}"
                yield words, names[0].get("href").removeprefix("../")
