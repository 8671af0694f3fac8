"""Time and memory of the commands that read a store, and their limits.

`python -m tests.bench.reports` makes a store like that of a crawl: one page in ten was read, each
with 50 links, and there is a host for every hundred pages. It runs the commands in processes of
their own, in turn, and prints the medians of the rounds.
"""

import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click
import numpy as np

from minicrawl import __version__
from minicrawl.states import State
from tests.bench.notes import head, into_document, machine, row, tell, today
from tests.bench.processes import Cost, Load, run_whole
from tests.stores import HandCrawl

LINKS = 50
PAGES_A_READ = 10
PAGES_A_HOST = 100
ODD_ONE_IN = 50
"""Of 50 requested pages, one has moved and one is gone."""
READS_A_COMMIT = 1_000
READS_A_CHECKPOINT = 20_000


class Question(NamedTuple):
    """Command, and its limits on a store of a million pages."""

    command: Sequence[str]
    limit_s: float | None = None
    limit_mb: float | None = None


QUESTIONS = (
    Question(("--version",), 0.2),
    Question(("--help",), 0.2),
    Question(("status",), 0.3),
    Question(("top",), 1, 100),
    Question(("top", "--sites")),
    Question(("rank", "degree")),
    Question(("top", "--by", "degree")),
    Question(("frontier",)),
    Question(("explain", "http://host7.example/section/0/page-7.html")),
    Question(("errors",), 2),
    Question(("export", "ranks.csv", "--force"), 10),
    Question(("export", "ranks.jsonl", "--force")),
    Question(("check",)),
)


class Web:
    """Synthetic web. Pages link to new pages and to known ones, most of them old."""

    def __init__(self, pages: int) -> None:
        self.reads = pages // PAGES_A_READ
        self.known = self.reads
        self._pages = pages
        self._hosts = max(pages // PAGES_A_HOST, 1)
        self._random = np.random.default_rng(1)

    def url(self, page: int) -> str:
        return f"http://host{page % self._hosts}.example/section/{page // 1000}/page-{page}.html"

    def links(self) -> Iterator[str]:
        """Yield the links of the next page to read."""
        fresh = range(self.known, min(self.known + PAGES_A_READ, self._pages))
        self.known = fresh.stop
        places = self._random.random(LINKS - len(fresh)) ** 3
        yield from map(self.url, (*fresh, *(places * self.known).astype(int).tolist()))


def make_store(path: Path, pages: int) -> None:
    """Make the store of a crawl that has read a tenth of the web."""
    web = Web(pages)
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds(map(web.url, range(web.reads)), endowment=100)
        for page in range(web.reads):
            _ask(crawl, web, page)
            if page % READS_A_COMMIT == 0:
                crawl.commit()
            if page % READS_A_CHECKPOINT == 0:
                crawl.checkpoint()
        crawl.checkpoint()


def _ask(crawl: HandCrawl, web: Web, page: int) -> None:
    url = web.url(page)
    match page % ODD_ONE_IN:
        case 1:
            crawl.moved(url, web.url(page - 1))
        case 2:
            crawl.ended(url, State.NOT_FOUND, "404")
        case rest:
            title = f"Page {page}, with a title"
            crawl.read(url, web.links(), title=title, noindex=not rest)


Costs = dict[Question, list[Cost]]


def rounds(store: Path, count: int) -> Costs:
    """Run all commands in each round and return their costs."""
    costs: Costs = {question: [] for question in QUESTIONS}
    for number in range(count):
        for question, paid in costs.items():
            paid.append(_asked(question, store))
            click.echo(f"round {number + 1}  {paid[-1].wall_s:6.2f} s  {_name(question)}", err=True)
    return costs


def _asked(question: Question, store: Path) -> Cost:
    whose = () if question.command[0].startswith("-") else ("--store", store.name)
    return run_whole((sys.executable, "-m", "minicrawl", *question.command, *whose), store.parent)


def _name(question: Question) -> str:
    return " ".join(word for word in question.command if "://" not in word)


def circumstances(pages: int, store: Path, costs: Costs, load: Load) -> Iterator[str]:
    """Yield the date, the versions, the machine and the load by other processes."""
    paid = [cost for one in costs.values() for cost in one]
    others = load.of_others(sum(cost.cpu_s for cost in paid))
    yield (
        f"{today()}: {pages:,} pages in a store of {store.stat().st_size / 1e6:,.0f} MB, median of "
        f"{len(paid) // len(costs)}. minicrawl {__version__}. {machine()}, of which others used "
        f"{others} cores."
    )


def table(costs: Costs) -> Iterator[str]:
    """Yield a row for each command."""
    yield ""
    yield from head("minicrawl", "s", "at most", "CPU s", "peak MB", "at most", "s, from to")
    for question, paid in costs.items():
        seconds = [one.wall_s for one in paid]
        yield row(
            f"`{_name(question)}`",
            f"{statistics.median(seconds):.2f}",
            _limit(question.limit_s),
            f"{statistics.median(one.cpu_s for one in paid):.2f}",
            f"{statistics.median(one.peak_bytes for one in paid) / 1e6:,.0f}",
            _limit(question.limit_mb),
            f"{min(seconds):.2f} to {max(seconds):.2f}",
        )


def _limit(number: float | None) -> str:
    return "" if number is None else f"{number:g}"


@click.command()
@click.option("--pages", default="1e6", show_default=True)
@click.option("--rounds", "count", default=5, show_default=True)
@into_document
def main(pages: str, count: int, into: Path | None) -> None:
    number = int(float(pages))
    with TemporaryDirectory(prefix="minicrawl-bench-") as folder:
        store = Path(folder, "crawl.db")
        make_store(store, number)
        load = Load()
        costs = rounds(store, count)
        lines = [*circumstances(number, store, costs, load), *table(costs)]
    tell(lines, "reports", into)


if __name__ == "__main__":
    main()
