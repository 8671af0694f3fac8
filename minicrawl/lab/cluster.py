"""A crawl in shards on many nodes, simulated with the shards of `minicrawl.shards`.

web        a shard of a web: its pages, its queue, and what it reads
simulation nodes that read in ticks, batches that take time, a level of cash for all
comparison the importance that is gathered, beside one machine from the same seeds
traffic    what so many nodes send each other
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.cluster import shard as audit
from minicrawl.cluster.assignment import NO_LEVEL, PotTold, sketch, to_level, water_level
from minicrawl.cluster.channels import Posting, Transfer, TransferBatch
from minicrawl.cluster.shard import Shard
from minicrawl.frontier.channels import SHARDS, shard_of
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.order import Crawls, DrawnMean, PoliteCrawl, draw_seeds, spread
from minicrawl.lab.webs import Exploration, Greedy, Web
from minicrawl.opic.journal import Books, Spending, Step, StepKind
from minicrawl.opic.ledger import FOREIGN, UNREAD, Ledger
from minicrawl.opic.money import fixed_edge
from minicrawl.opic.schedule import Richest
from minicrawl.progress import Progress, part

# ================================================================ traffic
#
# What a crawl on many nodes sends, by what was counted in a smaller one.
#
# pair      an ordered pair of shards; each has batches of its own
# gap       the time from one batch of a pair to the next: until it is full, or until the first
#           transfer of it, which comes at random, has waited long enough

TRANSFER_BYTES = 100
"""A URL of 75 bytes and what is said of it."""
BATCH_BYTES = 200
"""A batch without transfers, and what an engine adds to a message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCrawl:
    """The crawl that is asked for: `pages` known at its end, `pace` pages a second on each node.

    A batch is sent when it has `transfers`, or when its first one has waited `wait_s`.
    """

    nodes: int
    pages: int
    pace: float
    wait_s: float
    transfers: int

    @property
    def shards(self) -> int:
        """As many as nodes, and never fewer than usual."""
        return max(self.nodes, SHARDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """All nodes together, in a second; and in one batch."""

    transfers_s: float
    batches_s: float
    in_a_batch: float
    megabytes_s: float


def traffic(crawl: RealCrawl, a_page: float) -> Traffic:
    """Of a crawl in which a page that is read leads to so many transfers."""
    transfers_s = crawl.nodes * crawl.pace * a_page
    pairs = crawl.shards * (crawl.shards - 1)
    by_pair = transfers_s / pairs
    gap_s = min(crawl.wait_s + 1 / by_pair, crawl.transfers / by_pair) if by_pair else 0
    batches_s = pairs / gap_s if gap_s else 0.0
    return Traffic(
        transfers_s=transfers_s,
        batches_s=batches_s,
        in_a_batch=transfers_s / batches_s if batches_s else 0.0,
        megabytes_s=(transfers_s * TRANSFER_BYTES + batches_s * BATCH_BYTES) / 1e6,
    )


# ================================================================ web
#
# A shard of a web that the laboratory knows and the crawler does not.
#
# Law: all cash moves by steps of `minicrawl.shards`, as it would on a machine.

Numbers = NDArray[np.int64]
_NOTHING = Spending(())


def owners(web: Web, shards: int, site_pages: int) -> list[int]:
    """The shard of each page.

    Where no hosts are known, so many pages in a row count as a site: pages of graphs of the web are
    mostly numbered in the order of their URLs.
    """
    sites = web.site if web.has_hosts else np.arange(web.graph.nodes) // site_pages
    names = [f"site{number}.example" for number in range(int(sites.max()) + 1)]
    of_site = np.array([shard_of(name, shards) for name in names])
    found: list[int] = of_site[sites].tolist()
    return found


class SimulatedPages:
    """The pages that a shard knows, its own and foreign ones, by the ids of the web."""

    def __init__(self, number: int, owner_of: Sequence[int]) -> None:
        self.number, self.of_web = number, list[int]()
        self._owner_of = owner_of
        self._ids: dict[int, int] = {}

    def url(self, page: int) -> str:
        return str(self.of_web[page])

    def depth(self, page: int) -> int:
        """No limit of depth is simulated."""
        return 0

    def owner(self, page: int) -> int:
        return self._owner_of[self.of_web[page]]

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        before = len(self.of_web)
        return self.ids([int(transfer.url) for transfer in transfers]), len(self.of_web) - before

    def ids(self, pages: Sequence[int]) -> list[int]:
        """Of these pages of the web; those that are new get the next ids."""
        ids = self._ids
        for page in pages:
            if page not in ids:
                ids[page] = len(self.of_web)
                self.of_web.append(page)
        return [ids[page] for page in pages]

    def add_new(self, pages: Sequence[int]) -> tuple[int, int]:
        """How many foreign pages, which get the next ids, and how many own ones are new."""
        new = [page for page in pages if page not in self._ids]
        foreign = [page for page in new if self._owner_of[page] != self.number]
        self.ids(foreign)
        self.ids([page for page in new if self._owner_of[page] == self.number])
        return len(foreign), len(new) - len(foreign)


class CrawledShard:
    """A shard that is crawled: the richest page first."""

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
        self._richest = Richest(self.ledger.key, self.ledger.flags, UNREAD)

    def seed(self, seeds: Sequence[int], units: int) -> None:
        """These pages of the web are known at first, and share so much."""
        ids = self.pages.ids(seeds)
        self.shard.apply(Step(StepKind.BORN, born=len(ids)), 0)
        self.shard.apply(Step(StepKind.ENDOWED, spending=Spending(ids), amount=units), 0)
        self._richest.offer(ids)

    def best(self) -> int | None:
        """The richest page that waits, as a lease."""
        return self._richest.take()

    def put_back(self, page: int) -> None:
        """The lease ends without a turn."""
        self._richest.release(page)

    def read(self, page: int, now: float) -> None:
        """The page is read, and pays its links."""
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
        """The next batch for this shard."""
        pot = max(0, self.ledger.virtual_page.pot)
        step = self.shard.sending(receiver, min(of_pot, pot))
        batch = self.shard.batch(step)
        self.shard.apply(step, now)
        return batch

    def post(self, batch: TransferBatch, now: float) -> None:
        """What another shard sent has come."""
        for step in self.shard.receipt(batch):
            self.shard.apply(step, now)
            self._richest.offer(step.spending.links)

    def waiting_keys(self) -> Numbers:
        """The keys of all pages that wait."""
        return self._keys(UNREAD)

    def in_outbox(self) -> int:
        """Atoms that wait to be sent."""
        return int(self._keys(FOREIGN).sum())

    def _keys(self, flag: int) -> Numbers:
        flags = np.frombuffer(self.ledger.flags, dtype=np.uint8)
        found: Numbers = np.frombuffer(self.ledger.key, dtype=np.int64)[flags == flag]
        return found


# ================================================================ simulation
#
# Nodes that read a web together, in ticks.
#
# In a tick each node reads one page, the richest of its shards, if it is above the level of cash
# that was last announced; else it is idle. Batches that are sent in a tick come in the next one.
#
# Law: no atom is lost or made, at any tick; the audit of `minicrawl.shards` says so at the end.

HEADROOM = 2
"""So many times the pages that nodes can read until the next level are above this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedNodes:
    """So many nodes, which read one page a tick each.

    A batch is sent when its first transfer has waited `wait` ticks. Shards tell what they know of
    themselves every `tell` ticks. With no `headroom` there is no level: each node reads its richest
    page.
    """

    nodes: int
    shards: int
    wait: int
    tell: int = 1
    headroom: int = HEADROOM


@dataclass(slots=True)
class SimulatedTraffic:
    """What was sent, and how many turns of a node were idle."""

    transfers: int = 0
    batches: int = 0
    idle: int = 0
    ticks: int = 0
    under_way: float = 0.0
    """The share of all cash that was in outboxes and batches, summed over `looks`."""
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
        self._level = NO_LEVEL
        self.fetched: list[int] = []
        self.traffic = SimulatedTraffic()

    def start(self, seeds: Sequence[int], units: int) -> None:
        """Seeds are known to their shards, and each of them gets its part of the endowment."""
        share, more = divmod(units, len(seeds))
        for number, shard in enumerate(self.shards):
            own = [seed for seed in seeds if self._owner_of[seed] == number]
            extra = sum(place < more for place, seed in enumerate(seeds) if seed in own)
            if own:
                shard.seed(own, share * len(own) + extra)

    def fetch(self, budget: int) -> list[int]:
        """So many pages of the web in the order in which they are read, or fewer."""
        while len(self.fetched) < budget and self._tick(budget):
            self.traffic.ticks += 1
        if wrong := list(audit.faults(self._statements(), self._sent_until)):
            raise AssertionError("; ".join(wrong))
        return self.fetched

    def _tick(self, budget: int) -> bool:
        """Whether anything happened or is still to come."""
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
        return len(self.fetched) > before or bool(arrived) or waits or self._is_held_back()

    def _read(self, node: Sequence[CrawledShard], now: int) -> None:
        """A page of the node, if one is above the level."""
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
        """Batches that are due; whether anything is on the way or waits in an outbox."""
        waits = False
        for number, shard in enumerate(self.shards):
            for receiver in shard.shard.outbox.due(now):
                batch = shard.send(receiver, self._to_level[number].pop(receiver, 0), now)
                self._on_the_way.append(batch)
                self._sent.setdefault((number, receiver), []).append(batch.atoms)
                self.traffic.batches += 1
                self.traffic.transfers += len(batch.transfers)
            waits = waits or bool(shard.shard.outbox.due(inf))
        return waits or bool(self._on_the_way)

    def _tell(self) -> None:
        """A new level, and what each pot is to send to others."""
        pots = {
            number: PotTold(shard.ledger.virtual_page.pot, shard.ledger.unread)
            for number, shard in enumerate(self.shards)
        }
        self._to_level = [to_level(number, pots) for number in pots]
        self._look()
        if headroom := self._settings.headroom:
            pages = headroom * self._settings.nodes * self._settings.tell
            sketches = [sketch(shard.waiting_keys(), pages) for shard in self.shards]
            self._level = water_level(sketches, pages)

    def _is_held_back(self) -> bool:
        """Whether pages wait for a lower level."""
        return self._level > NO_LEVEL and any(shard.ledger.unread for shard in self.shards)

    # ------------------------------------------------------------ the law

    def _look(self) -> None:
        """How much cash is on its way."""
        minted = sum(shard.ledger.minted for shard in self.shards)
        away = sum(shard.ledger.abroad + shard.in_outbox() for shard in self.shards)
        self.traffic.under_way += away / minted
        self.traffic.looks += 1

    def _statements(self) -> list[audit.Statement]:
        return [shard.shard.statement() for shard in self.shards]

    def _sent_until(self, sender: int, receiver: int, number: int) -> int:
        sums = accumulate(self._sent.get((sender, receiver), []), initial=0)
        return list(sums)[number]


# ================================================================ comparison
#
# The importance that nodes gather together, beside one machine from the same seeds.
#
# A real crawl is larger than any graph here. So a simulated tick stands for as much of the crawl as
# it is of the graph: what matters for the order is which part of the crawl goes by while cash is on
# its way. `Staleness` is that translation.
#
# agreement   of the importance on the pages that one machine reads, the part that is on pages that
#             the nodes have read as well

Floats = NDArray[np.float64]

FEWEST_NODES = 8
TELL_S = 1.0
"""Shards tell their sums and sketches so often."""


class Staleness(NamedTuple):
    """How a real crawl looks in a simulation of `nodes` nodes."""

    nodes: int
    tick_s: float
    """Seconds of the real crawl that a tick stands for."""

    @classmethod
    def of(cls, crawl: RealCrawl, web_pages: int) -> Staleness:
        """As many nodes as make a tick as long as the time between two tellings, if that can be."""
        a_second = crawl.nodes * crawl.pace * web_pages / crawl.pages
        nodes = min(crawl.nodes, SHARDS, max(FEWEST_NODES, round(TELL_S * a_second)))
        return cls(nodes, nodes / a_second)

    def simulated(self, crawl: RealCrawl, headroom: int) -> SimulatedNodes:
        """Times of less than a tick count as none, but a batch always takes a tick to come."""
        return SimulatedNodes(
            nodes=self.nodes,
            shards=SHARDS,
            wait=round(crawl.wait_s / self.tick_s),
            tell=max(1, round(TELL_S / self.tick_s)),
            headroom=headroom,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPoint:
    """What was found for one real crawl; shares, at each budget."""

    crawl: RealCrawl
    tick_s: float
    fractions: Sequence[float]
    one_machine: DrawnMean
    mass: DrawnMean
    agreement: DrawnMean
    idle: float
    """The part of the turns of nodes that were idle, as their pages were below the level."""
    under_way: float
    """The part of all cash that was in outboxes and batches, on average."""
    traffic: Traffic

    def as_json(self) -> dict[str, object]:
        spreads = {name: getattr(self, name) for name in ("one_machine", "mass", "agreement")}
        return asdict(self) | {name: found._asdict() for name, found in spreads.items()}


class Sharding(NamedTuple):
    """Where no hosts are known, so many pages in a row are a site; `headroom` is as simulated."""

    site_pages: int
    headroom: int


class _Run(NamedTuple):
    mass: list[float]
    agreement: list[float]
    fetched: int
    traffic: SimulatedTraffic


def cluster(
    web: Web,
    *,
    crawls: Crawls,
    wanted: Sequence[RealCrawl],
    sharding: Sharding,
    progress: Progress,
) -> list[ClusterPoint]:
    """A point for each crawl that is wanted, the mean over the draws."""
    course = _Course(web, crawls, sharding)
    points = []
    for place, real in enumerate(wanted):
        tell = part(progress, place / len(wanted), (place + 1) / len(wanted))
        points.append(course.point(real, tell))
    return points


class _Course:
    """A web with the crawls of one machine, from each draw of seeds."""

    def __init__(self, web: Web, crawls: Crawls, sharding: Sharding) -> None:
        self._crawls, self._headroom = crawls, sharding.headroom
        self._owner_of = owners(web, SHARDS, sharding.site_pages)
        self._truth = true_importance(web.graph, crawls.small_edge)
        self._links = list(web.graph.adjacency())
        self._budgets = [int(share * len(self._links)) for share in crawls.fractions]
        self._seeds = [draw_seeds(web, crawls.seed, draw) for draw in range(crawls.draws)]
        self._runs: dict[SimulatedNodes, list[_Run]] = {}
        self._alone = [self._on_one_machine(web, seeds) for seeds in self._seeds]

    def point(self, real: RealCrawl, progress: Progress) -> ClusterPoint:
        """What nodes find that are as many and as quick as those of the real crawl."""
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
        return PoliteCrawl(crawl, Greedy(crawl.ledger)).fetch(max(self._budgets))

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
