"""`minicrawl lab cluster`: a crawl in shards on many nodes, simulated with `minicrawl.cluster`.

traffic     estimate of the messages between nodes
web         a shard of a simulated web: its pages, its queue, its reads
simulation  nodes that read in ticks, batches that take time, a common cash threshold
comparison  importance gathered, compared with that of one machine from the same seeds
command     options and tables
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from math import inf
from typing import NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from minicrawl.cli.options import ListOption, Number, Sizes
from minicrawl.cli.output import show_table
from minicrawl.cli.parameters import number, option, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import json_option
from minicrawl.cluster.cash_threshold import NO_THRESHOLD, cash_threshold, sketch
from minicrawl.cluster.channels import audit
from minicrawl.cluster.channels.batches import MOST_TRANSFERS, Transfer, TransferBatch
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.channels.shard import Shard
from minicrawl.cluster.page_budget import levelling_transfers
from minicrawl.cluster.records import ShardFacts
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.graph.csr import Csr
from minicrawl.lab.commands.web_choice import (
    WebChoice,
    about,
    endowment_option,
    on_a_web,
    show,
    small_edge_option,
)
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.importance_curves import Crawls, DrawnMean, draw_seeds, spread
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.webs import Floats, Model, Web
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.channels import shard_of
from minicrawl.opic.ledger.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.ledger.money import SMALL_EDGE, fixed_edge
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.ports import Progress, part

SIMULATED_SHARDS = 64
"""Number of shards in a simulation, and the least number in the real crawl."""

# ================================================================ traffic
#
# Messages of a crawl on many nodes, extrapolated from the counts of a simulation.
#
# pair      ordered pair of shards, with batches of its own
# gap       time between two batches of a pair: until a batch is full, or until its first transfer,
#           which arrives at a random time, has waited long enough

TRANSFER_BYTES = 100
"""A URL of 75 bytes, and the numbers beside it."""
BATCH_BYTES = 200
"""An empty batch, and the engine's overhead for a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCrawl:
    """A crawl to estimate: `pages` are known at its end, and each node reads `pace` pages/s.

    A batch is sent when it has `transfers`, or when its first transfer has waited `wait_s`.
    """

    nodes: int
    pages: int
    pace: float
    wait_s: float
    transfers: int

    @property
    def shards(self) -> int:
        """Number of shards: one for each node, but at least `SIMULATED_SHARDS`."""
        return max(self.nodes, SIMULATED_SHARDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """Traffic of all nodes together per second, and size of a batch."""

    transfers_s: float
    batches_s: float
    in_a_batch: float
    megabytes_s: float


def traffic(crawl: RealCrawl, transfers_per_page: float) -> Traffic:
    """Estimate the traffic if each page read leads to this many transfers."""
    transfers_s = crawl.nodes * crawl.pace * transfers_per_page
    pairs = crawl.shards * (crawl.shards - 1)
    rate = transfers_s / pairs
    gap_s = min(crawl.wait_s + 1 / rate, crawl.transfers / rate) if rate else 0
    batches_s = pairs / gap_s if gap_s else 0.0
    return Traffic(
        transfers_s=transfers_s,
        batches_s=batches_s,
        in_a_batch=transfers_s / batches_s if batches_s else 0.0,
        megabytes_s=(transfers_s * TRANSFER_BYTES + batches_s * BATCH_BYTES) / 1e6,
    )


# ================================================================ web
#
# Shards that crawl a web which the laboratory knows and they do not.
#
# Law: all cash moves by the steps of `minicrawl.cluster.channels`, as in a real cluster.

Numbers = NDArray[np.int64]
_NOTHING = Spending(())


def owners(web: Web, shards: int, site_pages: int) -> list[int]:
    """Return the shard of each page.

    If hosts are unknown, `site_pages` consecutive pages count as a site: in most graphs of the web,
    pages are numbered in the order of their URLs.
    """
    sites = web.site if web.has_hosts else np.arange(web.graph.nodes) // site_pages
    names = [f"site{number}.example" for number in range(int(sites.max()) + 1)]
    of_site = np.array([shard_of(name, shards) for name in names])
    found: list[int] = of_site[sites].tolist()
    return found


class SimulatedPages:
    """Own and foreign pages that a shard knows, by their ids in the web."""

    def __init__(self, number: int, owner_of: Sequence[int]) -> None:
        self.number, self.of_web = number, list[int]()
        self._owner_of = owner_of
        self._ids: dict[int, int] = {}

    def url(self, page: int) -> str:
        return str(self.of_web[page])

    def depth(self, page: int) -> int:
        """Return 0: limits of depth are not simulated."""
        return 0

    def owner(self, page: int) -> int:
        return self._owner_of[self.of_web[page]]

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        before = len(self.of_web)
        return self.ids([int(transfer.url) for transfer in transfers]), len(self.of_web) - before

    def ids(self, pages: Sequence[int]) -> list[int]:
        """Return the ids of these pages of the web; new pages get the next ids."""
        ids = self._ids
        for page in pages:
            if page not in ids:
                ids[page] = len(self.of_web)
                self.of_web.append(page)
        return [ids[page] for page in pages]

    def add_new(self, pages: Sequence[int]) -> tuple[int, int]:
        """Add the unknown ones of these pages, foreign pages first.

        Return the numbers of foreign and of own pages added.
        """
        new = [page for page in pages if page not in self._ids]
        foreign = [page for page in new if self._owner_of[page] != self.number]
        self.ids(foreign)
        self.ids([page for page in new if self._owner_of[page] == self.number])
        return len(foreign), len(new) - len(foreign)


class CrawledShard:
    """A shard that reads its richest page first."""

    def __init__(
        self,
        number: int,
        links: Sequence[Sequence[int]],
        owner_of: Sequence[int],
        small_edge: float,
        posting: Posting,
    ) -> None:
        self.pages = SimulatedPages(number, owner_of)
        self._links = links
        self.ledger = Ledger(small_edge=fixed_edge(small_edge))
        self.shard = Shard(number, Books(self.ledger, lambda _page: _NOTHING), self.pages, posting)
        self._richest = CandidateHeap(self.ledger.key, self.ledger.flags, UNREAD)

    def seed(self, seeds: Sequence[int], units: int) -> None:
        """Make these pages of the web known, with an endowment to share."""
        ids = self.pages.ids(seeds)
        self.shard.apply(Step(StepKind.BORN, born=len(ids)), 0)
        self.shard.apply(Step(StepKind.ENDOWED, spending=Spending(ids), amount=units), 0)
        self._richest.offer(ids)

    def best(self) -> int | None:
        """Lease the richest waiting page."""
        return self._richest.take()

    def put_back(self, page: int) -> None:
        """End the lease without reading the page."""
        self._richest.release(page)

    def read(self, page: int, now: float) -> None:
        """Read the page, and pay its links."""
        targets = self._links[self.pages.of_web[page]]
        first = len(self.pages.of_web)
        foreign, own = self.pages.add_new(targets)
        if foreign:
            self.shard.apply(Step(StepKind.BORN, page, foreign, amount=len(targets)), now)
            strangers = range(first, first + foreign)
            self.shard.apply(Step(StepKind.FOREIGN, spending=Spending(strangers)), now)
        links = sorted(self.pages.ids(targets))
        self.shard.apply(Step(StepKind.VISIT, page, own, Spending(links)), now)
        self._richest.offer(links)
        self._richest.release(page)

    def send(self, receiver: int, of_pot: int, now: float) -> TransferBatch:
        """Return the next batch for this shard, with up to `of_pot` atoms of the pot."""
        pot = max(0, self.ledger.virtual_page.pot)
        step = self.shard.sending(receiver, min(of_pot, pot))
        batch = self.shard.batch(step)
        self.shard.apply(step, now)
        return batch

    def post(self, batch: TransferBatch, now: float) -> None:
        """Post a batch of another shard."""
        for step in self.shard.receipt(batch):
            self.shard.apply(step, now)
            self._richest.offer(step.spending.links)

    def waiting_keys(self) -> Numbers:
        return self._keys(UNREAD)

    def in_outbox(self) -> int:
        """Return the atoms that wait to be sent."""
        return int(self._keys(FOREIGN).sum())

    def _keys(self, flag: int) -> Numbers:
        flags = np.frombuffer(self.ledger.flags, dtype=np.uint8)
        found: Numbers = np.frombuffer(self.ledger.key, dtype=np.int64)[flags == flag]
        return found


# ================================================================ simulation
#
# Nodes that read a web together, in ticks.
#
# In each tick a node reads the richest page of its shards, or is idle if that page is below the
# last announced cash threshold. Batches sent in a tick arrive in the next one.
#
# Law: no atom is lost or created in any tick; the audit of `minicrawl.cluster.channels` verifies it
# at the end.

HEADROOM = 2
"""Pages above the threshold, in multiples of the pages that all nodes can read until the next one.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodes:
    """Settings of simulated nodes, which read one page per tick each.

    A batch is sent when its first transfer has waited `wait` ticks. Shards report facts every
    `tell` ticks. With `headroom` 0 there is no threshold: each node reads its richest page.
    """

    nodes: int
    shards: int
    wait: int
    tell: int = 1
    headroom: int = HEADROOM


@dataclass(slots=True)
class SimulatedTraffic:
    """Counts of messages and of idle turns."""

    transfers: int = 0
    batches: int = 0
    idle: int = 0
    ticks: int = 0
    under_way: float = 0.0
    """Share of all cash that was in outboxes and batches, summed over `looks`."""
    looks: int = 0


class ShardedCrawl:
    """A crawl in shards, from seeds that share an endowment."""

    def __init__(
        self,
        links: Sequence[Sequence[int]],
        owner_of: Sequence[int],
        small_edge: float,
        settings: SimulatedNodes,
    ) -> None:
        posting = Posting(transfers=len(links), wait_s=settings.wait)
        self._settings, self._owner_of = settings, owner_of
        self.shards = [
            CrawledShard(number, links, owner_of, small_edge, posting)
            for number in range(settings.shards)
        ]
        self._nodes = [self.shards[node :: settings.nodes] for node in range(settings.nodes)]
        self._on_the_way: list[TransferBatch] = []
        self._sent: dict[tuple[int, int], list[int]] = {}
        self._to_level: list[dict[int, int]] = [{} for _ in self.shards]
        self._level = NO_THRESHOLD
        self.fetched: list[int] = []
        self.traffic = SimulatedTraffic()

    def start(self, seeds: Sequence[int], units: int) -> None:
        """Make each seed known to its shard, with its part of the endowment."""
        share, more = divmod(units, len(seeds))
        for shard_number, shard in enumerate(self.shards):
            own = [seed for seed in seeds if self._owner_of[seed] == shard_number]
            extra = sum(place < more for place, seed in enumerate(seeds) if seed in own)
            if own:
                shard.seed(own, share * len(own) + extra)

    def fetch(self, budget: int) -> list[int]:
        """Read up to `budget` pages; return them in the order of reading."""
        while len(self.fetched) < budget and self._tick(budget):
            self.traffic.ticks += 1
        statements = [shard.shard.statement() for shard in self.shards]
        if wrong := list(audit.faults(statements, self._sent_until)):
            raise AssertionError("; ".join(wrong))
        return self.fetched

    def _tick(self, budget: int) -> bool:
        """Run one tick. Return False when nothing happened and nothing is pending."""
        now, before = self.traffic.ticks, len(self.fetched)
        arrived, self._on_the_way = self._on_the_way, []
        for batch in arrived:
            self.shards[batch.receiver].post(batch, now)
        if now % self._settings.tell == 0:
            self._tell()
        for node in self._nodes:
            if len(self.fetched) < budget:
                self._read(node, now)
        waits = self._send(now)
        if len(self.fetched) > before or arrived or waits:
            return True
        # Pages may wait for a lower threshold.
        return self._level > NO_THRESHOLD and any(shard.ledger.unread for shard in self.shards)

    def _read(self, node: Sequence[CrawledShard], now: int) -> None:
        """Read the richest page of the node, if it is above the threshold."""
        best: tuple[int, CrawledShard, int] | None = None
        for shard in node:
            if (page := shard.best()) is None:
                continue
            key = shard.ledger.key[page]
            if key < self._level or (best and key <= best[0]):
                shard.put_back(page)
                continue
            if best:
                best[1].put_back(best[2])
            best = key, shard, page
        if best is None:
            self.traffic.idle += 1
            return
        _, shard, page = best
        shard.read(page, now)
        self.fetched.append(shard.pages.of_web[page])

    def _send(self, now: int) -> bool:
        """Send due batches. Return whether any cash is in transit or waits in an outbox."""
        waits = False
        for sender, shard in enumerate(self.shards):
            for receiver in shard.shard.outbox.due(now):
                batch = shard.send(receiver, self._to_level[sender].pop(receiver, 0), now)
                self._on_the_way.append(batch)
                self._sent.setdefault((sender, receiver), []).append(batch.atoms)
                self.traffic.batches += 1
                self.traffic.transfers += len(batch.transfers)
            waits = waits or bool(shard.shard.outbox.due(inf))
        return waits or bool(self._on_the_way)

    def _tell(self) -> None:
        """Report the facts of all shards: compute the threshold and the transfers between pots."""
        told = {
            number: ShardFacts(
                number, pot=shard.ledger.virtual_page.pot, waiting=shard.ledger.unread
            )
            for number, shard in enumerate(self.shards)
        }
        self._to_level = [levelling_transfers(number, told) for number in told]
        self._measure_transit()
        if headroom := self._settings.headroom:
            pages = headroom * self._settings.nodes * self._settings.tell
            sketches = [sketch(shard.waiting_keys(), pages) for shard in self.shards]
            self._level = cash_threshold(sketches, pages)

    def _measure_transit(self) -> None:
        """Measure the share of the cash that is in transit."""
        minted = sum(shard.ledger.minted for shard in self.shards)
        away = sum(shard.ledger.abroad + shard.in_outbox() for shard in self.shards)
        self.traffic.under_way += away / minted
        self.traffic.looks += 1

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        """Return the atoms in the first `number` batches from sender to receiver."""
        sums = accumulate(self._sent.get((sender, receiver), []), initial=0)
        return list(sums)[number]


# ================================================================ comparison
#
# Importance that nodes gather together, compared with one machine from the same seeds.
#
# A real crawl is larger than any graph here. What matters for the order is the share of the crawl
# that passes while cash is in transit, so a tick covers the same share of the real crawl as of the
# graph. `Staleness` makes this translation.
#
# agreement   of the importance on pages that one machine has read, the share on pages that the
#             nodes have read as well

FEWEST_NODES = 8
TELL_S = 1.0
"""Interval at which shards report facts."""


class Staleness(NamedTuple):
    """Scale of a simulation with `nodes` nodes, for a real crawl."""

    nodes: int
    tick_s: float
    """Seconds of the real crawl per tick."""

    @classmethod
    def of(cls, crawl: RealCrawl, web_pages: int) -> Staleness:
        """Return the scale for a crawl, on a web of this size.

        Where possible, the number of nodes makes a tick as long as `TELL_S`.
        """
        pages_s = crawl.nodes * crawl.pace * web_pages / crawl.pages
        nodes = min(crawl.nodes, SIMULATED_SHARDS, max(FEWEST_NODES, round(TELL_S * pages_s)))
        return cls(nodes, nodes / pages_s)

    def simulated(self, crawl: RealCrawl, headroom: int) -> SimulatedNodes:
        """Return the settings of the simulation.

        A wait below half a tick counts as 0, but each batch takes a tick to arrive.
        """
        return SimulatedNodes(
            nodes=self.nodes,
            shards=SIMULATED_SHARDS,
            wait=round(crawl.wait_s / self.tick_s),
            tell=max(1, round(TELL_S / self.tick_s)),
            headroom=headroom,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPoint:
    """Result for one real crawl; shares are given at each budget."""

    crawl: RealCrawl
    tick_s: float
    fractions: Sequence[float]
    one_machine: DrawnMean
    mass: DrawnMean
    agreement: DrawnMean
    idle: float
    """Share of the nodes' turns in which they read no page."""
    under_way: float
    """Mean share of all cash that was in outboxes and batches."""
    traffic: Traffic

    def as_json(self) -> dict[str, object]:
        spreads = {name: getattr(self, name) for name in ("one_machine", "mass", "agreement")}
        return asdict(self) | {name: found._asdict() for name, found in spreads.items()}


class _Run(NamedTuple):
    mass: list[float]
    agreement: list[float]
    fetched: int
    traffic: SimulatedTraffic


def cluster_points(
    web: Web,
    *,
    crawls: Crawls,
    wanted: Sequence[RealCrawl],
    site_pages: int,
    headroom: int,
    progress: Progress,
) -> list[ClusterPoint]:
    """Return a result for each wanted crawl, as means over the draws.

    If hosts are unknown, `site_pages` consecutive pages form a site.
    """
    course = _Course(web, crawls, site_pages, headroom)
    points = []
    for place, real in enumerate(wanted):
        tell = part(progress, place / len(wanted), (place + 1) / len(wanted))
        points.append(course.point(real, tell))
    return points


class _Course:
    """A web, with the crawls of one machine from each draw of seeds."""

    def __init__(self, web: Web, crawls: Crawls, site_pages: int, headroom: int) -> None:
        self._crawls, self._headroom = crawls, headroom
        self._owner_of = owners(web, SIMULATED_SHARDS, site_pages)
        self._truth = true_importance(web.graph, crawls.small_edge)
        self._links = list(web.graph.adjacency())
        self._budgets = [int(share * len(self._links)) for share in crawls.fractions]
        self._seeds = [draw_seeds(web, crawls.seed, draw) for draw in range(crawls.draws)]
        self._runs: dict[SimulatedNodes, list[_Run]] = {}
        self._alone = [self._on_one_machine(web, seeds) for seeds in self._seeds]

    def point(self, real: RealCrawl, progress: Progress) -> ClusterPoint:
        """Simulate nodes that correspond to the real crawl."""
        staleness = Staleness.of(real, len(self._links))
        settings = staleness.simulated(real, self._headroom)
        if settings not in self._runs:
            self._runs[settings] = list(self._simulate(settings, progress))
        base = np.array([self._masses(fetched) for fetched in self._alone])
        return _point(real, staleness, self._crawls, base, self._runs[settings])

    def _simulate(self, settings: SimulatedNodes, progress: Progress) -> Iterator[_Run]:
        for draw, seeds in enumerate(self._seeds):
            crawl = ShardedCrawl(self._links, self._owner_of, self._crawls.small_edge, settings)
            crawl.start(seeds, self._crawls.endowment)
            crawl.fetch(max(self._budgets))
            yield self._run(crawl, self._alone[draw])
            progress((draw + 1) / len(self._seeds))

    def _on_one_machine(self, web: Web, seeds: Sequence[int]) -> list[int]:
        crawl = Exploration(web, self._links, self._truth, self._crawls.small_edge)
        crawl.start(seeds, self._crawls.endowment)
        return fetched(crawl, ORDERS["greedy"](crawl), max(self._budgets))

    def _run(self, crawl: ShardedCrawl, alone: Sequence[int]) -> _Run:
        agreed = [self._agreement(alone[:end], crawl.fetched[:end]) for end in self._budgets]
        return _Run(self._masses(crawl.fetched), agreed, len(crawl.fetched), crawl.traffic)

    def _masses(self, fetched: Sequence[int]) -> list[float]:
        return [float(self._truth[list(fetched[:end])].sum()) for end in self._budgets]

    def _agreement(self, alone: Sequence[int], together: Sequence[int]) -> float:
        both = np.intersect1d(alone, together)
        return float(self._truth[both].sum() / self._truth[list(alone)].sum())


def _point(
    real: RealCrawl, staleness: Staleness, crawls: Crawls, base: Floats, runs: Sequence[_Run]
) -> ClusterPoint:
    counted, fetched = [run.traffic for run in runs], sum(run.fetched for run in runs)
    turns = fetched + sum(one.idle for one in counted)
    return ClusterPoint(
        crawl=real,
        tick_s=staleness.tick_s,
        fractions=crawls.fractions,
        one_machine=spread(base),
        mass=spread(np.array([run.mass for run in runs])),
        agreement=spread(np.array([run.agreement for run in runs])),
        idle=sum(one.idle for one in counted) / turns,
        under_way=sum(one.under_way for one in counted) / sum(one.looks for one in counted),
        traffic=traffic(real, sum(one.transfers for one in counted) / fetched),
    )


# ================================================================ command

PAGES, QUICK_PAGES = 50_000, 10_000
DRAWS, QUICK_DRAWS = 2, 1
READ = "5,10,20,30,50"


@click.command()
@on_a_web(Model.COPYING, PAGES, QUICK_PAGES)
@with_options
@endowment_option
@small_edge_option(SMALL_EDGE)
@json_option
def cluster(
    choice: WebChoice,
    endowment: int | None,
    small_edge: float,
    as_json: bool,
    node_counts: Sequence[int] = option(
        "Number of nodes.",
        "10,100,1000,10000",
        flag="--machines",
        cls=ListOption,
        metavar="N,...",
        type=Sizes(),
    ),
    waits: Sequence[int] = option(
        "Maximum time that cash waits for a batch to fill.",
        "1,60",
        flag="--wait",
        cls=ListOption,
        metavar="SECONDS,...",
        type=Sizes(),
    ),
    batch: int = number(
        "Number of transfers in a full batch.", MOST_TRANSFERS, most=MOST_TRANSFERS
    ),
    pace: float = option(
        "Pages that each node reads per second.",
        100.0,
        metavar="PAGES",
        type=Number(min=0, min_open=True),
    ),
    crawl_pages: int = number(
        "Number of pages known at the end of the crawl; the simulated web is a small copy.", 10**9
    ),
    headroom: int = number(
        "Cash threshold: admit K seconds of work per node; 0 for no threshold.",
        HEADROOM,
        metavar="K",
        least=0,
    ),
    site_pages: int = number("Treat N consecutive pages as a site if the graph has no hosts.", 100),
    shares: Sequence[int] = option(
        "Compare the pages fetched when these shares of the web are read.",
        READ,
        flag="--read",
        cls=ListOption,
        metavar="PERCENT,...",
        type=Sizes(),
    ),
    draws: int | None = number(
        f"Average over N random sets of 10 seeds.  [default: {DRAWS}; {QUICK_DRAWS} with --quick]"
    ),
) -> None:
    """Simulate a sharded crawl on many nodes: pages found and traffic.

    Each shard has its own ledger, and sends cash along links to pages of other shards. The first
    two tables compare the pages that the nodes fetch with those of a single machine, the third
    shows the traffic. A tick of the simulation covers the same share of its web as of the real
    crawl. At most 64 nodes are simulated.
    """
    crawl = partial(RealCrawl, pages=crawl_pages, pace=pace, transfers=batch)
    wanted = [crawl(nodes=nodes, wait_s=wait) for nodes in node_counts for wait in waits]
    crawls = Crawls(
        draws=choice.otherwise(draws, DRAWS, QUICK_DRAWS),
        seed=choice.seed,
        endowment=choice.endowment(endowment),
        small_edge=small_edge,
        fractions=[min(share, 100) / 100 for share in shares],
    )
    web = choice.web()
    with progress("cluster") as tell:
        points = cluster_points(
            web,
            crawls=crawls,
            wanted=wanted,
            site_pages=site_pages,
            headroom=headroom,
            progress=tell,
        )
    show(web.graph, points, as_json, _show)


def _show(graph: Csr, points: Sequence[ClusterPoint]) -> None:
    first = points[0]
    headings = ["nodes", "wait, s", *(f"{share:.0%}" for share in first.fractions)]
    show_table(
        "Share of all importance on the pages fetched, in %",
        headings,
        [
            ["one machine", "", *_percents(first.one_machine.mean)],
            *([*_name(point), *_percents(point.mass.mean)] for point in points),
        ],
        "",
    )
    show_table(
        "Importance of one machine's pages that the nodes have read as well, in %",
        [*headings, "idle turns", "cash in transit"],
        ([*_name(p), *_percents([*p.agreement.mean, p.idle, p.under_way])] for p in points),
        about(graph),
    )
    _show_traffic(points)


def _show_traffic(points: Sequence[ClusterPoint]) -> None:
    crawl = points[0].crawl
    show_table(
        "Sent by all nodes, per second",
        ["nodes", "wait, s", "transfers", "batches", "in a batch", "MB"],
        (
            [
                *_name(point),
                f"{point.traffic.transfers_s:,.0f}",
                f"{point.traffic.batches_s:,.0f}",
                f"{point.traffic.in_a_batch:,.1f}",
                f"{point.traffic.megabytes_s:,.1f}",
            ]
            for point in points
        ),
        f"{crawl.pages:,} pages; {crawl.pace:g} pages/s on a node; "
        f"at most {crawl.transfers:,} transfers in a batch",
    )


def _name(point: ClusterPoint) -> list[str]:
    return [f"{point.crawl.nodes:,}", f"{point.crawl.wait_s:g}"]


def _percents(shares: Sequence[float]) -> list[str]:
    return [f"{100 * share:.1f}" for share in shares]
