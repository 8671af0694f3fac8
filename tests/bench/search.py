"""Quality and speed of the search, compared with other engines on the same pages.

`python -m tests.bench.search --into docs/search.md` crawls the installed manuals once (`--store`
keeps the store), indexes them, and asks the queries of `search_sets`. It prints MRR@10 and
success@1 for the half of the queries that no weight was fitted to, with bootstrap intervals of
95 %, and the times. `--fit` changes single weights of the ranking and shows the improvements on
the other half.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np

from minicrawl.app import Crawl
from minicrawl.config import Settings
from minicrawl.report.snapshot import snapshot
from minicrawl.search.entries import PageEntry
from minicrawl.search.importance_file import keep_importance
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.ranking import RankingWeights
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.reader import search_folder
from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.bench.search_peers import fts5, omega, tantivy_alone
from tests.bench.search_sets import Known, copied, entries, titles
from tests.real.nginx import serving

TOP = 10
_RESAMPLED = 2_000

Answer = Callable[[str], Sequence[str]]
"""Function from a query to the URLs that an engine finds, best first."""


class Judged(NamedTuple):
    """Place of the first right page (0 for none) and seconds, for each query."""

    places: list[int]
    seconds: list[float]

    def mrr(self) -> str:
        return _with_interval([1 / place if place else 0.0 for place in self.places])

    def success(self) -> str:
        return _with_interval([float(place == 1) for place in self.places])

    def time(self, share: float) -> str:
        return f"{1000 * float(np.quantile(self.seconds, share)):.1f}"

    @property
    def mean(self) -> float:
        return statistics.fmean(1 / place if place else 0.0 for place in self.places)


def ask(answer: Answer, queries: Sequence[Known]) -> Judged:
    found = Judged([], [])
    for known in queries:
        began = _cpu_s()
        urls = answer(known.words)
        found.seconds.append(_cpu_s() - began)
        places = (place for place, url in enumerate(urls[:TOP], 1) if url in known.answers)
        found.places.append(next(places, 0))
    return found


def _cpu_s() -> float:
    """Return the processor time of this thread and of ended children."""
    children = getrusage(RUSAGE_CHILDREN)
    return time.thread_time() + children.ru_utime + children.ru_stime


def _with_interval(values: Sequence[float]) -> str:
    random = np.random.default_rng(1)
    means = random.choice(values, (_RESAMPLED, len(values))).mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return f"{statistics.fmean(values):.3f} ({low:.3f}–{high:.3f})"


class Corpus(NamedTuple):
    """Store of the manuals, and queries."""

    store: Path
    entries: list[Known]
    titles: list[Known]

    def half(self, *, to_judge: bool) -> dict[str, list[Known]]:
        """Return the queries of one half, by set."""
        sets = {"index entries": self.entries, "titles": self.titles}
        return {
            name: [one for one in known if one.is_to_judge == to_judge]
            for name, known in sets.items()
        }


def crawled(store: Path, count: int, folder: Path) -> Corpus:
    """Return the corpus, after crawling the manuals if there is no store."""
    origins_file = store.with_suffix(".origins")
    if not store.exists():
        with serving(copied(folder), folder) as nginx:
            origins_file.write_text("\n".join(f"{k} {v}" for k, v in nginx.origins.items()))
            settings = Settings.of(delay=0, scope="host", store=store, keep="pages")
            Crawl(nginx.origins.values(), settings).run()
    origins = dict(line.split() for line in origins_file.read_text().split("\n"))
    with snapshot(store) as seen:
        pages = dict(
            seen.connection.execute(
                "SELECT url, title FROM pages WHERE state = 'fetched' AND title <> ''"
            ).fetchall()
        )
    return Corpus(store, entries(origins, set(pages), count // 2), titles(pages, count // 2))


def read_entries(store: Path) -> Iterator[PageEntry]:
    """Yield the read pages of the index, for other engines."""
    index = SearchIndex(search_folder(store) / FOLDER)
    with snapshot(store) as seen:
        known = (index.entry(page) for page in range(len(seen)))
        yield from (entry for entry in known if entry is not None and entry.at is not None)


def ours(finder: Finder, weights: RankingWeights) -> Answer:
    asked = SearchRequest(count=TOP, weights=weights)
    return lambda words: [one.entry.url for one in finder.find(parse(words), asked)]


def variations(weights: RankingWeights) -> Iterator[tuple[str, RankingWeights]]:
    """Yield weights with a single change."""
    for name in ("title", "exact", "importance", "proximity"):
        for factor in (0.5, 1.5, 2.5):
            value = factor * getattr(weights, name)
            yield f"{name} {value:.3g}", replace(weights, **{name: value})
    for name, value in (*weights.fields, ("compound", weights.fields.compound)):
        for factor in (0.5, 2.0):
            fields = replace(weights.fields, **{name: factor * value})
            yield f"field {name} {factor * value:.3g}", replace(weights, fields=fields)


def fitted(finder: Finder, queries: Sequence[Known], rounds: int) -> RankingWeights:
    """Return the weights after some rounds, each with the best single change."""
    best = RankingWeights()
    best_mean = ask(ours(finder, best), queries).mean
    for _ in range(rounds):
        tried = [
            (ask(ours(finder, weights), queries).mean, name, weights)
            for name, weights in variations(best)
        ]
        mean, name, weights = max(tried, key=lambda one: one[0])
        click.echo(f"{name}: {best_mean:.4f} -> {mean:.4f}", err=True)
        if mean <= best_mean:
            break
        best, best_mean = weights, mean
    return best


def rows(answers: Mapping[str, Answer], sets: Mapping[str, Sequence[Known]]) -> Iterator[str]:
    for name, answer in answers.items():
        judged = {which: ask(answer, queries) for which, queries in sets.items()}
        every = Judged(
            [place for one in judged.values() for place in one.places],
            [second for one in judged.values() for second in one.seconds],
        )
        for which, one in (*judged.items(), ("all", every)):
            times = (one.time(0.5), one.time(0.95))
            yield row(name, which, str(len(one.places)), one.mrr(), one.success(), *times)


@click.command()
@click.option("--store", type=click.Path(path_type=Path), help="Use this store, or make it.")
@click.option("--queries", default=1000, show_default=True)
@click.option("--fit", default=0, help="Rounds of fitting.")
@into_document
def main(store: Path | None, queries: int, fit: int, into: Path | None) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        folder.chmod(0o755)
        corpus = crawled(store or folder / "crawl.db", queries, folder)
        began = time.perf_counter()
        done = bring_up_to_date(corpus.store)
        took = time.perf_counter() - began
        with snapshot(corpus.store) as seen:
            keep_importance(search_folder(corpus.store), seen)
        finder = Finder(search_folder(corpus.store))
        if fit:
            known = [one for some in corpus.half(to_judge=False).values() for one in some]
            click.echo(fitted(finder, known, fit))
            return
        sets = corpus.half(to_judge=True)
        lines = [f"{circumstances()} {done.of_all:,} pages, {took:.1f} s to index.", ""]
        lines += head("engine", "queries", "number", "MRR@10", "success@1", "p50 ms", "p95 ms")
        entries = list(read_entries(corpus.store))
        engines = {
            "minicrawl": ours(finder, RankingWeights()),
            "FTS5, bm25": fts5(entries),
            "tantivy alone": tantivy_alone(entries, folder / "tantivy"),
        }
        if (peer := omega(entries, corpus.store, folder)) is not None:
            engines["Xapian Omega"] = peer
        lines += rows(engines, sets)
        tell(lines, "search", into)


if __name__ == "__main__":
    main()
