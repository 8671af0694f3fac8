"""Search page as files, for sites whose web server runs no programs.

One script loads what a query needs: the files of its words, and the texts of the pages that it
shows. What depends on one word is computed here; the script combines the words of a query.

    index.html search.js search.css    the page; `search.js` alone serves a page of your own
    about.json                         beginning of the first word of each file, and numbers
    words/17.json                      {"harbour": [rarity, "harbours", "packed numbers"]}
    spelling/4.json                    ["harbour", 17, ...], with the number of pages of each word
    spelling/beginnings.json           ["ab", ...], the beginning of the words of each file
    facets/lang.json                   {"en": [step to the next page, ...]}
    pages/0/48.json                    [url, title, text] of page 48

For each page of a word: the step from the page before, ten times the BM25 score, where the word is,
the number of its places, and the step to each of them. A packed number has a sign of `_SIGNS` for
every five bits, the lowest first; the second half of the signs says that another one follows.

What is written as one, such as `os.path`, is also a word: `os_path`, without score and places.

Laws: pages are numbered by importance. A word has at most `_MOST_PAGES` pages, those of the highest
scores, and a page has only its first places of it; the script knows where there are more.
The same index makes the same bytes.

rarity   of the word, as the ranking has it, in hundredths
places   of a word, counted in words; the title comes first, then the text
where    sum of the bits below, and 16 times the number of words of the title if it has the word
"""

import json
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise, takewhile
from math import log
from pathlib import Path

from minicrawl.errors import UsageError
from minicrawl.ports import Progress, unreported
from minicrawl.search.entries import PageEntry, file_name, sites_in, words_of_url
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.index_queries import TEXTS, FieldWeights
from minicrawl.search.indexing.index_folder import Completeness
from minicrawl.search.page_look import PAGE_FOLDER, page_look
from minicrawl.search.ranking import importance_part
from minicrawl.search.searching import Finder
from minicrawl.search.words.word_forms import is_stop_word, stems
from minicrawl.web.words import words_of

_MOST_PAGES = 1_000
_MOST_PLACES, _MOST_OF_STOP_WORD, _MOST_OF_RARE_WORD, _RARE = 12, 3, 40, 100
"""Most places of a word on a page; a rare word is on at most `_RARE` pages."""
_BYTES_A_FILE = 10_000
"""Approximate size of a file of words; a common word alone may take twice as many."""
_SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_PAGES_A_FOLDER = 1_000
_TEXT = 2_000
"""Characters of a page's text from which the shown passage is taken."""
_LONGEST_TEXT = 100_000
"""Characters of a page's text that are searched."""
_LONGEST_WORD = 32
_SATURATION, _LENGTH = 1.2, 0.75
"""Parameters k1 and b of BM25."""
_TITLE, _HEADING, _FILE, _MORE, _TITLE_WORDS = 1, 2, 4, 8, 16
"""The bits of `where`; `_MORE`: there are more places."""
_FORMS, _SHORTEST_FORM = 6, 3
_COMPOUND = re.compile(r"[^\W_]+(?:(?:[_.-]|::)[^\W_]+)+")
_GAP = 4
"""Places between title and text."""
_SPELLING_LETTERS = 2
_FEWEST_SPELT = 2
"""Pages that a word must have to correct another."""
_OWN = "minicrawl-search"
"""Marks a folder that may be overwritten."""


def write_static(
    index: Path,
    folder: Path,
    look: Mapping[str, str | Sequence[str]],
    lack: Completeness | None = None,
    progress: Progress = unreported,
) -> tuple[int, int, int]:
    """Write the search page of an index into a folder; return numbers of pages, words and bytes."""
    full_text = SearchIndex(index / FOLDER)
    shape = page_look(index, look, full_text.only_host)
    style = shape.style()
    _clear(folder)
    pages = sorted(
        Finder(index).all_pages(), key=lambda scored_page: (-scored_page[1], scored_page[0].page)
    )
    scorer = _Scorer(full_text.languages)
    for number, (entry, _) in enumerate(pages):
        scorer.add(number, entry)
        shown = folder / "pages" / str(number // _PAGES_A_FOLDER) / f"{number}.json"
        text = " ".join((entry.body or entry.repeated)[:_TEXT].split())
        _write(shown, [entry.url, entry.title or entry.url, text])
        progress(0.8 * number / len(pages))
    beginnings, last = list[str](), ""
    for nth, words in enumerate(_files(scorer.words())):
        _write(folder / "words" / f"{nth}.json", words)
        first = next(iter(words))
        same = takewhile(lambda pair: pair[0] == pair[1], zip(last, first, strict=False))
        beginnings.append(first[: len(list(same)) + 1])
        last = next(reversed(words))
    spelling = defaultdict[str, list[str | int]](list)
    for word, number in scorer.spelling():
        spelling[word[:_SPELLING_LETTERS]] += (word, number)
    for nth, counted_words in enumerate(spelling.values()):
        _write(folder / "spelling" / f"{nth}.json", counted_words)
    _write(folder / "spelling" / "beginnings.json", list(spelling))
    for name, values in _facets([entry for entry, _ in pages]).items():
        _write(folder / "facets" / f"{name}.json", values)
    parts = [round(100 * importance_part(relative)) for _, relative in pages]
    numbers = {
        "made_by": _OWN,
        "pages": len(pages),
        "pages_a_folder": _PAGES_A_FOLDER,
        "most_pages": _MOST_PAGES,
        "words": beginnings,
        # The first page of each importance, from 100 down to 0.
        "importance": [sum(part > least for part in parts) for least in range(100, -1, -1)],
        "stop_words": scorer.stop_words(),
        "indexed": lack and lack._asdict(),
    }
    _write(folder / "about.json", numbers)
    (folder / "search.css").write_text(style, "utf-8")
    (folder / "index.html").write_text(shape.static_page(), "utf-8")
    shutil.copyfile(PAGE_FOLDER / "static.js", folder / "search.js")
    progress(1.0)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return len(pages), scorer.number_of_words, size


def _clear(folder: Path) -> None:
    """Remove an earlier search from the folder. Raises UsageError if it has other files."""
    about = folder / "about.json"
    if folder.is_dir() and any(folder.iterdir()):
        if not about.is_file() or _OWN not in about.read_text("utf-8", "replace"):
            raise UsageError(f"{folder} has other files: name an empty or a new folder")
        for name in ("words", "pages", "spelling", "facets"):
            shutil.rmtree(folder / name, ignore_errors=True)


class _Scorer:
    """BM25 of each word on each page by field, as the index has it, and the places of words."""

    def __init__(self, languages: Sequence[str]) -> None:
        self._languages = languages
        self._weights = dict(FieldWeights())
        self._lengths = {name: list[int]() for name in TEXTS}
        self._counts = {
            name: defaultdict[str, list[tuple[int, int]]](list) for name in TEXTS
        }  # page and frequency, by word
        self._places = defaultdict[str, dict[int, list[int]]](dict)  # where, places

    @property
    def number_of_words(self) -> int:
        return len(self._places)

    def add(self, number: int, entry: PageEntry) -> None:
        title, body = words_of(entry.own_title), words_of(entry.body[:_LONGEST_TEXT])
        headings = words_of("\n".join(entry.headings))
        file = set(words_of(file_name(entry.url)))
        fields = {
            "title": title,
            "anchor": words_of("\n".join(entry.anchors)),
            "url": list(words_of_url(entry.url)),
            "headings": headings,
            "body": body,
            "repeated": words_of(entry.repeated[:_LONGEST_TEXT]),
        }
        named = "\n".join((entry.title, *entry.headings, file_name(entry.url)))
        in_names = set(_compounds(named))
        for word in in_names.union(_compounds(entry.body[:_LONGEST_TEXT])):
            self._places[word][number] = [_HEADING * (word in in_names)]
        places = defaultdict[str, list[int]](list)
        for place, word in enumerate((*title, *([""] * _GAP), *body)):
            places[word].append(place)
        for name, words in fields.items():
            self._lengths[name].append(len(words))
            for word, count in Counter(words).items():
                if len(word) <= _LONGEST_WORD:
                    self._counts[name][word].append((number, count))
        in_title, in_headings = set(title), set(headings).union(words_of(entry.title))
        for word in set().union(*fields.values()):
            if len(word) <= _LONGEST_WORD:
                where = (word in in_title) * (_TITLE + _TITLE_WORDS * len(title))
                where += (word in in_headings) * _HEADING + (word in file) * _FILE
                of_word = places.get(word, ())[: _MOST_OF_RARE_WORD + 1]
                self._places[word][number] = [where, *of_word]

    def words(self) -> Iterator[tuple[str, int, str, str]]:
        """Yield the words in order, each with its rarity, its other forms, and its pages."""
        pages = max(len(self._lengths["body"]), 1)
        forms = self._forms()
        means = {name: sum(lengths) / pages or 1 for name, lengths in self._lengths.items()}
        for word in sorted(self._places):
            scores = defaultdict[int, float](float)
            for name, weight in self._weights.items():
                of_word = self._counts[name].get(word, ())
                rarity = weight * log(1 + (pages - len(of_word) + 0.5) / (len(of_word) + 0.5))
                for page, count in of_word:
                    length = 1 - _LENGTH + _LENGTH * self._lengths[name][page] / means[name]
                    norm = count * (_SATURATION + 1) / (count + _SATURATION * length)
                    scores[page] += rarity * norm
            best = sorted(scores, key=lambda page: (-scores[page], page))[:_MOST_PAGES]
            rarity = log(1 + pages / (self._pages_with(word) + 0.5))
            numbers = list[int]()
            is_rare, is_stop = len(scores) <= _RARE, is_stop_word(word, self._languages)
            most = _MOST_OF_STOP_WORD if is_stop else _MOST_PLACES
            most, before = _MOST_OF_RARE_WORD if is_rare else most, 0
            for page in sorted(best or self._places[word])[:_MOST_PAGES]:
                where, *places = self._places[word][page]
                where += (len(places) > most) * _MORE
                places = places[:most]
                steps = (place - earlier for earlier, place in pairwise((0, *places)))
                score = max(1, round(10 * scores[page]))
                numbers += (page - before, score, where, len(places), *steps)
                before = page
            yield word, round(100 * rarity), " ".join(forms.get(word, ())), _packed(numbers)

    def spelling(self) -> Iterator[tuple[str, int]]:
        """Yield the words that may correct others, in order, with the number of their pages."""
        for word in sorted(self._places):
            if word.isalpha() and (number := self._pages_with(word)) >= _FEWEST_SPELT:
                yield word, number

    def stop_words(self) -> list[str]:
        return [word for word in sorted(self._places) if is_stop_word(word, self._languages)]

    def _pages_with(self, word: str) -> int:
        return max(len(self._counts[name].get(word, ())) for name in TEXTS)

    def _forms(self) -> dict[str, list[str]]:
        """Return the other forms of words, by the language of most pages."""
        words = [word for word in sorted(self._places) if len(word) >= _SHORTEST_FORM]
        stemmed = stems(words, self._languages[0]) if self._languages else []
        by_stem = defaultdict[str, list[str]](list)
        for word, stem in zip(words, stemmed, strict=bool(stemmed)):
            by_stem[stem].append(word)
        return {
            word: sorted(set(alike) - {word}, key=lambda other: (-self._pages_with(other), other))[
                :_FORMS
            ]
            for alike in by_stem.values()
            for word in alike
        }


def _compounds(text: str) -> Iterator[str]:
    """Yield what is written as one in a text, such as `os_path` for `os.path`."""
    return ("_".join(words_of(match[0])) for match in _COMPOUND.finditer(text))


def _packed(numbers: Iterable[int]) -> str:
    signs = list[str]()
    for number in numbers:
        left = number
        while left >= 32:  # noqa: PLR2004 - five bits
            signs.append(_SIGNS[32 + left % 32])
            left //= 32
        signs.append(_SIGNS[left])
    return "".join(signs)


def _files(
    words: Iterable[tuple[str, int, str, str]],
) -> Iterator[dict[str, tuple[int, str, str]]]:
    """Yield the words of each file, which take about `_BYTES_A_FILE` bytes."""
    of_file, size = dict[str, tuple[int, str, str]](), 0
    for word, rarity, forms, pages in words:
        of_file[word] = rarity, forms, pages
        size += len(word) + len(forms) + len(pages)
        if size >= _BYTES_A_FILE:
            yield of_file
            of_file, size = {}, 0
    if of_file:
        yield of_file


def _facets(entries: Sequence[PageEntry]) -> dict[str, dict[str, list[int]]]:
    """Return the pages of each value that a filter may name, and the day of each page."""
    facets = {name: defaultdict[str, list[int]](list) for name in ("site", "lang", "type", "year")}
    days = list[int]()
    for number, entry in enumerate(entries):
        for site in dict.fromkeys(sites_in(entry.url)):
            facets["site"][site].append(number)
        facets["lang"][entry.language.partition("-")[0].lower()].append(number)
        facets["type"][entry.type].append(number)
        at = entry.at or 0
        facets["year"][str(datetime.fromtimestamp(at, UTC).year)].append(number)
        days.append(int(at // 86_400))
    in_steps = {
        name: {
            value: [page - earlier for earlier, page in pairwise((0, *pages))]
            for value, pages in values.items()
        }
        for name, values in facets.items()
    }
    return in_steps | {"after": {"days": days}}


def _write(file: Path, content: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
