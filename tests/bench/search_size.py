"""Time of a query on a large index.

`python -m tests.bench.search_size --store FILE --pages 1000000` makes an index of short pages. To
make words as frequent as in real texts, it draws lines, titles, headings and anchor texts from the
store that `tests.bench.search --store FILE` has made. It asks the queries of that benchmark, and
prints the processor time of the engine and of the whole query.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import click
import numpy as np

from minicrawl.search.index import FOLDER, FieldWeights, SearchIndex
from minicrawl.search.notes import Entry
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.search import crawled, read_entries

_HOSTS = 500
_EACH_COMMIT = 20_000
_LINES = range(3, 14)
_SHORTEST = 20
_SEED = 5


def drawn(sources: Sequence[Entry], count: int) -> Iterator[Entry]:
    """Yield synthetic pages made of random parts of real ones."""
    random = Random(_SEED)
    lines = [line for one in sources for line in one.body.split("\n")[:60] if len(line) > _SHORTEST]
    for number in range(count):
        title, headings, anchors = (random.choice(sources) for _ in range(3))
        yield Entry(
            page=number,
            url=f"http://h{number % _HOSTS}.example/{number}",
            title=f"{title.own_title} | Site",
            own_title=title.own_title,
            headings=headings.headings[:8],
            body="\n".join(random.choices(lines, k=random.choice(_LINES))),
            repeated="Home\nMenu",
            anchors=anchors.anchors[:5],
            language="en",
            at=float(number),
        )


def filled(folder: Path, entries: Iterator[Entry]) -> float:
    """Make an index and return the processor time."""
    began = time.process_time()
    index = SearchIndex(folder / FOLDER)
    index.write()
    for number, entry in enumerate(entries, 1):
        index.replace(entry)
        if number % _EACH_COMMIT == 0:
            index.commit()
    index.commit()
    index.close()
    return time.process_time() - began


def asked(finder: Finder, index: SearchIndex, queries: Sequence[str]) -> dict[str, list[float]]:
    """Return the processor times of all queries, by part."""
    took: dict[str, list[float]] = {"engine": [], "whole query": []}
    for words in queries:
        query = parse(words)
        began = time.thread_time()
        index.best(query, FieldWeights())
        took["engine"].append(time.thread_time() - began)
        began = time.thread_time()
        finder.find(query, SearchRequest())
        took["whole query"].append(time.thread_time() - began)
    return took


@click.command()
@click.option("--store", required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pages", default=1_000_000, show_default=True)
@click.option("--queries", default=1000, show_default=True)
@into_document
def main(store: Path, pages: int, queries: int, into: Path | None) -> None:
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        corpus = crawled(store, queries, folder)
        sources = list(read_entries(store))
        took = filled(folder, drawn(sources, pages))
        known = [one.words for some in corpus.half(to_judge=True).values() for one in some]
        times = asked(Finder(folder), SearchIndex(folder / FOLDER), known)
    rate = f"{pages:,} pages of drawn lines, {pages / took:,.0f} of them a second to index."
    lines = [f"{circumstances()} {rate}", "", *head("part", "p50 ms", "p95 ms", "most ms")]
    for part, seconds in times.items():
        shares = (1000 * float(np.quantile(seconds, share)) for share in (0.5, 0.95, 1.0))
        lines.append(row(part, *(f"{one:.1f}" for one in shares)))
    tell(lines, "search size", into)


if __name__ == "__main__":
    main()
