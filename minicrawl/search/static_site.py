"""Search page as files, for sites whose web server runs no programs.

One script loads what a query needs: the files of its words, and the texts of the pages that it
shows. Scores are made here, as whole numbers, so the script only adds them up.

    index.html search.js search.css    the page; `search.js` alone serves a page of your own
    about.json                         the first word of each file of words, and numbers
    words/17.json                      {"harbour": [rarity, page, score, step to next page, score]}
    pages/3.json                       [[url, title, text], ...] of pages 48 to 63

Laws: pages are numbered by importance. A word has at most `_MOST_PAGES` pages, those of the highest
scores; a word with that many is common, and pages without it are found as well. The same index
makes the same bytes.

rarity   of the word, as BM25 has it, in hundredths
score    weight of a word on a page, 1 to 255: the rest of BM25, raised by the page's importance;
         a word counts eight times in the title, three times in a heading, and twice in an anchor
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import log
from pathlib import Path

from minicrawl.errors import UsageError
from minicrawl.ports import Progress, unreported
from minicrawl.search.entries import Entry
from minicrawl.search.ranking import importance_part
from minicrawl.search.searching import Finder
from minicrawl.web.words import words_of

_MOST_PAGES = 1_000
_PAGES_A_FILE = 16
_BYTES_A_FILE = 60_000
"""Approximate size of a file of words."""
_TEXT = 1_500
"""Characters of a page's text from which the shown passage is taken."""
_LONGEST_TEXT = 100_000
"""Characters of a page's text that are searched."""
_LONGEST_WORD = 32
_IN_TITLE, _IN_HEADING, _IN_ANCHOR = 8, 3, 2
_SATURATION, _LENGTH = 1.2, 0.75
"""Parameters k1 and b of BM25."""
_IMPORTANCE = 0.5
"""Increase of the score of the most important page, as a share."""
_HIGHEST = 255
_OWN = "minicrawl-search"
"""Marks a folder that may be overwritten."""
_PAGE = Path(__file__).parent / "page"


def write_static(
    index: Path, folder: Path, progress: Progress = unreported
) -> tuple[int, int, int]:
    """Write the search page of an index into a folder."""
    _clear(folder)
    finder = Finder(index)
    pages = sorted(
        finder.all_pages(), key=lambda scored_page: (-scored_page[1], scored_page[0].page)
    )
    postings = defaultdict[str, list[tuple[int, float]]](list)
    lengths = list[int]()
    for number, (entry, _) in enumerate(pages):
        counts = _weights(entry)
        lengths.append(max(counts.total(), 1))
        for word, weight in counts.items():
            postings[word].append((number, weight))
        progress(0.8 * number / len(pages))
    boosts = [1 + _IMPORTANCE * importance_part(relative) for _, relative in pages]
    scored = _scores(postings, lengths, boosts)
    firsts = []
    for nth, words in enumerate(_files(scored)):
        _write(folder / "words" / f"{nth}.json", words)
        firsts.append(next(iter(words)))
    for nth, start in enumerate(range(0, len(pages), _PAGES_A_FILE)):
        shown = [_shown(entry) for entry, _ in pages[start : start + _PAGES_A_FILE]]
        _write(folder / "pages" / f"{nth}.json", shown)
    about = {
        "made_by": _OWN,
        "pages": len(pages),
        "pages_a_file": _PAGES_A_FILE,
        "most_pages": _MOST_PAGES,
        "first_words": firsts,
    }
    _write(folder / "about.json", about)
    for name, own in (("search.js", "static.js"), ("search.css", "public.css")):
        shutil.copyfile(_PAGE / own, folder / name)
    shutil.copyfile(_PAGE / "static.html", folder / "index.html")
    progress(1.0)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return len(pages), len(postings), size


def _clear(folder: Path) -> None:
    """Remove an earlier search from the folder. Raises UsageError if it has other files."""
    about = folder / "about.json"
    if folder.is_dir() and any(folder.iterdir()):
        if not about.is_file() or _OWN not in about.read_text("utf-8", "replace"):
            raise UsageError(f"{folder} has other files: name an empty or a new folder")
        for name in ("words", "pages"):
            shutil.rmtree(folder / name, ignore_errors=True)
    for name in ("words", "pages"):
        (folder / name).mkdir(parents=True)


def _weights(entry: Entry) -> Counter[str]:
    """Return the words of a page, with their weighted frequencies."""
    counts = Counter(words_of(entry.body[:_LONGEST_TEXT]))
    for text, times in (
        (entry.own_title, _IN_TITLE),
        ("\n".join(entry.headings), _IN_HEADING),
        ("\n".join(entry.anchors), _IN_ANCHOR),
    ):
        for word, count in Counter(words_of(text)).items():
            counts[word] += times * count
    return Counter({word: count for word, count in counts.items() if len(word) <= _LONGEST_WORD})


def _scores(
    postings: dict[str, list[tuple[int, float]]], lengths: Sequence[int], boosts: Sequence[float]
) -> Iterator[tuple[str, list[int]]]:
    """Yield the words in order, each with its rarity, steps between its pages, and scores."""
    mean_length = sum(lengths) / max(len(lengths), 1)
    highest = (_SATURATION + 1) * (1 + _IMPORTANCE)
    for word in sorted(postings):
        of_word = postings[word]
        rarity = log(1 + (len(lengths) - len(of_word) + 0.5) / (len(of_word) + 0.5))
        scored = []
        for page, weight in of_word:
            length = _SATURATION * (1 - _LENGTH + _LENGTH * lengths[page] / mean_length)
            score = weight * (_SATURATION + 1) / (weight + length) * boosts[page]
            scored.append((page, max(1, min(_HIGHEST, round(_HIGHEST * score / highest)))))
        best = sorted(scored, key=lambda scored_page: (-scored_page[1], scored_page[0]))[
            :_MOST_PAGES
        ]
        yield word, [max(1, round(100 * rarity)), *_in_steps(sorted(best))]


def _in_steps(scored: Iterable[tuple[int, int]]) -> Iterator[int]:
    before = 0
    for page, score in scored:
        yield page - before
        yield score
        before = page


def _files(scored: Iterable[tuple[str, list[int]]]) -> Iterator[dict[str, list[int]]]:
    """Yield the words of each file, which take about `_BYTES_A_FILE` bytes."""
    words, size = dict[str, list[int]](), 0
    for word, numbers in scored:
        words[word] = numbers
        size += len(word) + 4 + 4 * len(numbers)
        if size >= _BYTES_A_FILE:
            yield words
            words, size = {}, 0
    if words:
        yield words


def _shown(entry: Entry) -> list[str]:
    return [entry.url, entry.title or entry.url, " ".join(entry.body[:_TEXT].split())]


def _write(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":")), "utf-8")
