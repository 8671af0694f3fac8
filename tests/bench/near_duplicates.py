"""Precision and recall of near-duplicates, on real and on edited pages.

`python -m tests.bench.near_duplicates --into docs/near-duplicates.md` crawls the installed manuals
(`--store` keeps the store) and compares the near-duplicates of the index with all pairs of pages
whose shingles have a Jaccard similarity of 0.7, without shingles that a site repeats. Then it edits
words of some pages and searches the originals. It asserts nothing.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zlib import crc32

import click
import numpy as np
from scipy.sparse import csr_array

from minicrawl.report.near_duplicates import (
    NO_NEAR_DUPLICATES,
    NearDuplicates,
    kept_near_duplicates,
)
from minicrawl.search.entries import PageEntry
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.near_duplicates import (
    FEW,
    ReadText,
    SignedPages,
    are_alike,
    common_among,
    found_among,
    jaccard,
)
from minicrawl.store.reader import search_folder
from minicrawl.web.signatures import ALIKE, PLACES, Hashes, shingles, signature
from minicrawl.web.words import words_of
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.search import crawled, read_entries

_SEED = 3
_EDITED = 300
_FEWEST_LEFT = 100
_RATES = (0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
_AT_ONCE = 1_000


class Texts(NamedTuple):
    """Pages, and their shingles without those that the site repeats."""

    entries: list[PageEntry]
    left: list[Hashes]


def texts_of(entries: Sequence[PageEntry]) -> Texts:
    """Return the pages with their own shingles."""
    by_site: dict[str, list[int]] = defaultdict(list)
    found = [shingles(entry.body) for entry in entries]
    for place, entry in enumerate(entries):
        by_site[entry.url.split("/")[2]].append(place)
    left = list(found)
    for places in by_site.values():
        common = common_among([found[place] for place in places])
        for place in places:
            left[place] = np.setdiff1d(found[place], common, assume_unique=True)
    return Texts(list(entries), left)


def exact_pairs(texts: Texts) -> set[tuple[int, int]]:
    """Return the places of all pairs of similar pages that have enough shingles."""
    rows = [place for place, left in enumerate(texts.left) if len(left) >= FEW]
    lengths = np.array([len(texts.left[row]) for row in rows])
    _, columns = np.unique(np.concatenate([texts.left[row] for row in rows]), return_inverse=True)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    table = csr_array((np.ones(len(columns), np.int32), columns, starts))
    found = set()
    for begin in range(0, len(rows), _AT_ONCE):
        common = (table[begin : begin + _AT_ONCE] @ table.T).tocoo()
        ones, others = common.row + begin, common.col
        alike = common.data >= ALIKE * (lengths[ones] + lengths[others] - common.data)
        good = alike & (ones < others)
        found |= {(rows[a], rows[b]) for a, b in zip(ones[good], others[good], strict=True)}
    return found


def against_exact(texts: Texts, found: NearDuplicates) -> Iterator[str]:
    """Yield rows of precision and recall on real pages."""
    places = {entry.page: place for place, entry in enumerate(texts.entries)}
    exact = exact_pairs(texts)
    pairs = [
        (places[original], places[page])
        for page, original in zip(found.pages.tolist(), found.originals.tolist(), strict=True)
        if page != original
    ]
    comparable = [pair for pair in pairs if min(len(texts.left[one]) for one in pair) >= FEW]
    right = sum(jaccard(texts.left[a], texts.left[b]) >= ALIKE for a, b in comparable)
    in_groups = {place for pair in pairs for place in pair}
    wanted = {later for _, later in exact}
    yield row("pages", f"{len(texts.entries):,}")
    yield row("pairs of similar pages", f"{len(exact):,}")
    yield row("pages similar to an earlier page", f"{len(wanted):,}")
    yield row("pages assigned to an original", f"{len(pairs):,}")
    yield row("of these, only by equal titles", f"{len(pairs) - len(comparable):,}")
    yield row("precision of the others", f"{right / max(len(comparable), 1):.3f}")
    yield row("recall", f"{len(wanted & in_groups) / max(len(wanted), 1):.3f}")


def edited(text: str, rate: float, random: Random, others: Sequence[str]) -> str:
    """Return the text after replacing, deleting or doubling a share of its words."""
    words = []
    for word in words_of(text):
        kind = random.randrange(3) if random.random() < rate else -1
        words += {-1: [word], 0: [random.choice(others)], 1: [], 2: [word, word]}[kind]
    return " ".join(words)


def against_edits(texts: Texts) -> Iterator[str]:
    """Yield rows for growing shares of edited words."""
    random = Random(_SEED)
    many = [place for place, left in enumerate(texts.left) if len(left) >= _FEWEST_LEFT]
    chosen = random.sample(many, min(_EDITED, len(many)))
    bodies = [texts.entries[place].body for place in chosen]
    others = words_of(" ".join(bodies))
    for rate in _RATES:
        changed = [edited(body, rate, random, others) for body in bodies]
        yield _of_edits(rate, [*bodies, *changed])


def _of_edits(rate: float, texts: Sequence[str]) -> str:
    """Return a row for texts whose first half are the originals of the second half."""
    read = [ReadText("", own, own) for own in map(shingles, texts)]
    found = found_among(_signed(texts), lambda a, b: are_alike(read[a], read[b]))
    half = len(texts) // 2
    exact = [jaccard(read[n].left, read[n + half].left) for n in range(half)]
    is_found = found.originals_of(np.arange(half, 2 * half)) >= 0
    is_alike = np.array(exact) >= ALIKE
    of_alike = f"{np.mean(is_found[is_alike]):.3f}" if is_alike.any() else "-"
    shares = (np.mean(is_alike), np.mean(is_found))
    return row(f"{rate:.1%}", f"{np.mean(exact):.2f}", *(f"{one:.3f}" for one in shares), of_alike)


def _signed(bodies: Sequence[str]) -> SignedPages:
    signatures = b"".join(signature(body) or bytes(PLACES) for body in bodies)
    return SignedPages(
        np.arange(len(bodies)),
        np.zeros(len(bodies), np.int64),
        np.frombuffer(signatures, np.uint8).reshape(-1, PLACES),
    )


def _cost(entries: Sequence[PageEntry]) -> str:
    began = time.process_time()
    for entry in entries:
        signature(entry.body)
        crc32(entry.title.encode())
    return f"{1000 * (time.process_time() - began) / len(entries):.2f}"


@click.command()
@click.option("--store", type=click.Path(path_type=Path), help="Use this store, or make it.")
@into_document
def main(store: Path | None, into: Path | None) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        corpus = crawled(store or folder / "crawl.db", 0, folder)
        bring_up_to_date(corpus.store)
        found = kept_near_duplicates(search_folder(corpus.store)) or NO_NEAR_DUPLICATES
        entries = list(read_entries(corpus.store))
        texts = texts_of(entries)
        lines = [f"{circumstances()} A signature takes {_cost(entries)} ms a page.", ""]
        lines += head("real pages", "number")
        lines += against_exact(texts, found)
        lines += [
            "",
            *head("words changed", "mean similarity", "similar", "found", "found of the similar"),
        ]
        lines += against_edits(texts)
        tell(lines, "near-duplicates", into)


if __name__ == "__main__":
    main()
