"""Graph of a store: links in blocks, cash along them, and the graph of an analysis.

flows   links of all pages, in blocks: as cash flows along them, or as the pages have them
gifts   cash that one page received
sites   sites by the cash that other sites give them
source  graph of an analysis: the links of a store, or a graph file
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.frontier.url_table import sites_of
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import LinkArrays, LinkBuilder, RowBuilder
from minicrawl.graph.named_graph import NamedGraph, Names, NodeHosts, with_nodes, with_pages
from minicrawl.model import CRAWLED, PageId, State
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.opic.ledger.money import PARTS
from minicrawl.ports import Progress, unreported
from minicrawl.report.snapshot import (
    Snapshot,
    location_of,
    refuse_without_links,
    scores,
    snapshot,
)
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    OPIC,
    OPIC_SITES,
    rank_row,
    rank_scores,
    reading_beside,
)
from minicrawl.store.questions import Spendings
from minicrawl.store.records import reporting_damage
from minicrawl.store.stored_links import unpack, unpack_plain, unpack_written
from minicrawl.wording import iso

# ================================================================ flows
#
# Links of all pages, in blocks: as cash flows along them, or as the pages have them.
#
# Cash follows redirects, and flows from a page that stands for another to that page. Neither is a
# link that a page has. A page's link to itself and the links of duplicates are, but carry no cash.
#
# giver    a page that was read, or that stands for another
# end      the page that the cash of a link reached, after all redirects
# part     the share of its giver's cash that a link receives
# weight   the weight of a link among the links of its giver; usually 1
#
# `tell` receives the share of the givers that is done.

Numbers = NDArray[np.int64]


class CashFlows(NamedTuple):
    """Columns of links. The links of a giver are adjacent and in one block."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    parts: NDArray[np.float64]


class FlowLinks(NamedTuple):
    """Columns of distinct links. The links of a giver are adjacent and in one block."""

    givers: NDArray[np.int64]
    ends: NDArray[np.int64]
    weights: NDArray[np.int64]


def flows(
    snapshot: Snapshot,
    tell: Progress = lambda _share: None,
    givers: Numbers | None = None,
) -> Iterator[CashFlows]:
    """Yield the current links of all pages, or of `givers`, with their parts."""
    ends = final_pages(snapshot)
    with reporting_damage(snapshot.path):
        if givers is None:
            blocks = _current(snapshot, 0, tell)
        else:
            last = snapshot.last_spent[np.unique(givers)].tolist()
            blocks = questions.spendings_in(snapshot.connection, last)
        for block in blocks:
            for found in _flows_of(block, snapshot.frontier.small_edge):
                led = found._replace(ends=ends[found.ends])
                differs = led.givers != led.ends  # links from a page to itself are left out
                yield CashFlows(*(column[differs] for column in led))


def links(snapshot: Snapshot, tell: Progress = lambda _share: None) -> Iterator[FlowLinks]:
    """Yield all links that carry cash, with their weights.

    If several links of a page lead to one end, only the first counts.
    """
    ends = final_pages(snapshot)
    return (_links_to_final_pages(found, ends) for found in links_as_written(snapshot, tell=tell))


def links_as_written(
    snapshot: Snapshot, after: int = 0, tell: Progress = lambda _share: None
) -> Iterator[FlowLinks]:
    """Yield the links of pages whose last turn came after this step, redirects not followed."""
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, after, tell):
            yield from _weighted(block)


def page_links(snapshot: Snapshot, tell: Progress = lambda _share: None) -> Iterator[FlowLinks]:
    """Yield the links that pages have; redirects are neither links nor followed.

    A link without cash gets the weight that a link to another page usually has.
    """
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, 0, tell):
            is_visit = block.kinds == StepKind.VISIT
            plain, others = block.only(is_visit).split()
            if plain.blobs:
                counts, targets = unpack_written(plain.pages, plain.blobs)
                yield _rows(plain.pages, counts, targets, np.ones(len(targets), dtype=np.int64))
            for some, are_copies in ((others, False), (block.only(~is_visit), True)):
                if some.blobs:
                    pages = some.pages.tolist()
                    found = [
                        _written(page, unpack(blob), is_copy=are_copies)
                        for page, blob in zip(pages, some.blobs, strict=True)
                    ]
                    counts = np.array([len(links) for links, _ in found])
                    both = (
                        np.array([*chain(*column)], np.int64) for column in zip(*found, strict=True)
                    )
                    yield _rows(some.pages, counts, *both)


def linked_from(snapshot: Snapshot, page: int) -> list[int]:
    """Return the pages that this page links to."""
    spending = snapshot.frontier.spendings.of(page)
    return _written(page, spending, is_copy=page in snapshot.frontier.books.forwards)[0]


def _rows(pages: Numbers, counts: Numbers, targets: Numbers, weights: Numbers) -> FlowLinks:
    return FlowLinks(np.repeat(pages, counts), targets, weights)


def _written(page: int, spending: Spending, *, is_copy: bool) -> tuple[list[int], list[int]]:
    """Return the links of a page, and the weight of each."""
    links, weights = ([*spending.unpaid], []) if is_copy else map(list, spending[:2])
    links += [page] * spending.self_link
    usual = PARTS if weights else 1
    return links, weights + [usual] * (len(links) - len(weights))


def links_among(
    snapshot: Snapshot, is_node: NDArray[np.bool_], tell: Progress = lambda _share: None
) -> Iterator[FlowLinks]:
    """Yield the links between these pages.

    A link to a redirect that is not among them leads to the first of them behind it.
    """
    ends = _first_nodes(snapshot, is_node)
    for block in page_links(snapshot, tell):
        led = block._replace(ends=ends[block.ends])
        inside = is_node[led.givers] & is_node[led.ends]
        yield led if inside.all() else FlowLinks(*(column[inside] for column in led))


def _first_nodes(snapshot: Snapshot, is_node: NDArray[np.bool_]) -> Numbers:
    """Return each page, or the first node that it redirects to."""
    forwards, ends = snapshot.frontier.books.forwards, np.arange(len(snapshot))
    for page in forwards:
        end = page
        while not is_node[end] and end in forwards:
            end = forwards[end]
        ends[page] = end
    return ends


def _current(snapshot: Snapshot, after: int, tell: Progress) -> Iterator[Spendings]:
    """Yield the last spending of every page."""
    # The log keeps every turn, and a page that was read again has several: its last one has the
    # current links.
    last = snapshot.last_spent
    givers, done = int(np.count_nonzero(last > after)), 0
    for block in questions.spendings(snapshot.connection, after):
        found = block.only(last[block.pages] == block.seqs)
        yield found
        done += len(found.pages)
        tell(done / max(givers, 1))


def _weighted(block: Spendings) -> Iterator[FlowLinks]:
    plain, others = block.split()
    if plain.blobs:
        counts, targets = unpack_plain(plain.blobs)
        yield FlowLinks(
            np.repeat(plain.pages, counts), targets, np.ones(len(targets), dtype=np.int64)
        )
    if others.blobs:
        spendings = list(map(unpack, others.blobs))
        weights = [spending.weights or [1] * len(spending.links) for spending in spendings]
        yield FlowLinks(
            np.repeat(others.pages, list(map(len, weights))),
            np.array([link for spending in spendings for link in spending.links]),
            np.array(list(chain.from_iterable(weights))),
        )


def _links_to_final_pages(found: FlowLinks, ends: NDArray[np.int64]) -> FlowLinks:
    led = found._replace(ends=ends[found.ends])
    places = np.flatnonzero(led.givers != led.ends)
    # Links as written are distinct already; only redirects can lead two of them to one page.
    if (led.ends != found.ends).any():
        keys = led.givers[places] * len(ends) + led.ends[places]
        _, firsts = np.unique(keys, return_index=True)
        places = places[firsts]
    return FlowLinks(*(column[places] for column in led))


def _flows_of(block: Spendings, edge: float) -> Iterator[CashFlows]:
    plain, others = block.split()
    if plain.blobs:
        yield _plain_flows(plain, edge)
    if others.blobs:
        yield _weighted_flows(others, edge)


def final_pages(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the page that each page stands for, which may be itself."""
    pages, targets = snapshot.standing_for_others
    ends = np.arange(len(snapshot))
    ends[pages] = targets
    return ends


# A page with a canonical URL, or with the content of another page, was read itself.
_LED_ON = (State.MOVED, State.TWIN)


def redirect_ends(snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the page at the end of the redirects of each page, which may be itself."""
    ends = np.arange(len(snapshot))
    for page in np.flatnonzero(np.isin(snapshot.states, _LED_ON)).tolist():
        *_, ends[page] = redirect_chain(snapshot, page)
    return ends


def redirect_chain(snapshot: Snapshot, page: PageId) -> Iterator[int]:
    """Yield the page and the pages it redirects to, up to the end."""
    forwards = snapshot.frontier.books.forwards
    yield page
    while snapshot.states[page] in _LED_ON and page in forwards:
        page = forwards[page]
        yield page


def _plain_flows(block: Spendings, edge: float) -> CashFlows:
    counts, targets = unpack_plain(block.blobs)
    pot = np.where(block.kinds == StepKind.FORWARD, 1.0, 1 - edge)
    return CashFlows(
        np.repeat(block.pages, counts), targets, np.repeat(pot / np.maximum(counts, 1), counts)
    )


def _weighted_flows(block: Spendings, edge: float) -> CashFlows:
    spendings = list(map(unpack, block.blobs))
    return CashFlows(
        np.repeat(block.pages, [len(spending.links) for spending in spendings]),
        np.array([link for spending in spendings for link in spending.links]),
        np.array([part for spending in spendings for part in _parts(spending, edge)]),
    )


def _parts(spending: Spending, edge: float) -> list[float]:
    """Return the parts as the steps computed them; two links to one end count separately."""
    links, weights, focus, idle = spending[:4]
    weights = weights or [1] * len(links)
    total = sum(weights) + idle
    if not total:
        return [0.0] * len(links)
    parts = [(1 - edge) * weight / total for weight in weights]
    if not focus:
        return parts
    gifts = [part * strength / PARTS for part, strength in zip(parts, focus, strict=True)]
    purse = 1 - sum(parts)
    scale = purse / max(sum(gifts), purse) if purse else 0.0
    return [part + gift * scale for part, gift in zip(parts, gifts, strict=True)]


# ================================================================ gifts
#
# Cash that one page received: from which pages, and when.
#
# Law: a gift is the share of the giver's history that its last spending sent to the page, and is
# dated by the giver's last request. So the running sum ends with the sum of all gifts, but its
# earlier points are approximate.

MOST_MOMENTS = 120


class CashGifts(NamedTuple):
    """Givers of cash to one page, and the units that each gave."""

    givers: NDArray[np.int64]
    units: NDArray[np.float64]


class CashSoFar(NamedTuple):
    """Cash that a page had received by a moment, and the number of its givers."""

    at: str
    units: float
    pages: int


def gifts_to(
    snapshot: Snapshot, page: PageId, tell: Progress, linking: Numbers | None = None
) -> CashGifts:
    """Return the cash that each page gave to this one.

    `linking` has all pages that may have given cash, if they are known; otherwise all are read.
    """
    givers, units = [np.empty(0, dtype=np.int64)], [np.empty(0)]
    for found in flows(snapshot, tell, linking):
        here = np.flatnonzero(found.ends == page)
        givers.append(found.givers[here])
        units.append(snapshot.histories(found.givers[here]) * found.parts[here])
    names, places = np.unique(np.concatenate(givers), return_inverse=True)
    sums = np.bincount(places, np.concatenate(units), minlength=len(names))
    return CashGifts(names, sums.astype(np.float64, copy=False))


def history_of(snapshot: Snapshot, gifts: CashGifts) -> list[CashSoFar]:
    """Return the running sum of the gifts at up to `MOST_MOMENTS` moments.

    The first and the last moment are included. Imported pages were never requested, and are
    omitted.
    """
    asked = questions.last_times(snapshot.connection, gifts.givers.tolist())
    times = np.array([np.nan if at is None else at for at in asked])
    order = np.argsort(times)[: int(np.count_nonzero(~np.isnan(times)))]
    sums = np.cumsum(gifts.units[order])
    steps = np.linspace(0, len(order) - 1, min(len(order), MOST_MOMENTS)).astype(int)
    return [
        CashSoFar(iso(float(times[order[step]])), float(sums[step]), int(step) + 1)
        for step in steps
    ]


# ================================================================ sites
#
# Sites by the cash that other sites give them.
#
# Laws: links within a site say nothing about the site. The importance of a site is the cash that
# links from other sites brought to its pages, as a share of all cash that flowed between sites; if
# the importance has converged, it is the cash in the converged flow. That is stored with the
# importance, so that a large store does not need a pass over all links. By another rank, the score
# of a site is the sum over its pages.

Floats = NDArray[np.float64]
Groups = NDArray[np.int32]


class RankedSite(NamedTuple):
    """Site in `top --sites`. `score` is by the requested rank."""

    rank: int
    site: str
    importance: float
    pages: int
    fetched: int
    pages_importance: float
    score: float


def top_sites(
    snapshot: Snapshot, count: int = 0, by: str = OPIC, tell: Progress = lambda _share: None
) -> list[RankedSite]:
    """Return the best sites; ties go to the more important pages. `count` 0 is all."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    received = _received(snapshot, site_of, len(names), tell)
    pages, fetched, summed = (
        np.bincount(site_of, weights=weights, minlength=len(names))
        for weights in (None, snapshot.was_read, snapshot.importance)
    )
    ranked = received if by == OPIC else _site_sums(scores(snapshot, by), site_of, len(names))
    order = np.lexsort((-summed, -ranked))[: count or None]
    return [
        RankedSite(
            rank=rank,
            site=names[number],
            importance=float(received[number]),
            pages=int(pages[number]),
            fetched=int(fetched[number]),
            pages_importance=float(summed[number]),
            score=float(ranked[number]),
        )
        for rank, number in enumerate(order.tolist(), start=1)
    ]


def cash_of_sites(snapshot: Snapshot, tell: Progress) -> dict[str, float]:
    """Return the importance of all sites by name."""
    refuse_without_links(snapshot)
    names, site_of = sites_of(snapshot.hosts, snapshot.host_of)
    return dict(zip(names, _received(snapshot, site_of, len(names), tell).tolist(), strict=True))


def _site_sums(values: Floats, site_of: Groups, count: int) -> Floats:
    """Return the sum of the pages' scores for each site. Missing scores count as 0."""
    sums = np.zeros(count)
    np.add.at(sums, site_of, np.nan_to_num(values))
    return sums


def _received(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """Return the cash that each site received from others, as a share of all such cash."""
    stored = _stored_cash(snapshot)
    if stored is None:
        return _cash_along_links(snapshot, site_of, count, tell)
    return _site_sums(stored, site_of, count)


def _stored_cash(snapshot: Snapshot) -> Floats | None:
    """Return each page's part in the importance of its site; None if missing or outdated."""
    with reading_beside(snapshot.path, snapshot.connection) as derived:
        row = rank_row(derived, OPIC_SITES)
        if derived is None or row is None or snapshot.converged is None:
            return None
        is_current = row.step == snapshot.converged.step
        return rank_scores(derived, OPIC_SITES, len(snapshot)) if is_current else None


def _cash_along_links(snapshot: Snapshot, site_of: Groups, count: int, tell: Progress) -> Floats:
    """Like `_received`, computed from all links of the store."""
    received = np.zeros(count)
    worth = snapshot.histories if snapshot.converged is None else snapshot.importance.__getitem__
    for givers, ends, parts in flows(snapshot, tell):
        crosses = site_of[givers] != site_of[ends]
        amounts = worth(givers[crosses]) * parts[crosses]
        received += np.bincount(site_of[ends[crosses]], weights=amounts, minlength=count)
    total = received.sum()
    return received / total if total else received


# ================================================================ source
#
# Graph of an analysis: the links of a store, or a graph file.
#
# Laws: page i of the store is node i, whether it was read or not; a link to a page that stands for
# another leads to that one. Links are loaded on first use, once.

ProgressFactory = Callable[[str], AbstractContextManager[Progress]]
"""Function that returns the progress context of a labelled task."""

_PAGES_AT_ONCE = 10_000
_WEIGHT = "weight-"


class Source:
    """Graph to be analysed. `snapshot` is None if it is from a file."""

    def __init__(
        self,
        read: Callable[[Progress], NamedGraph],
        progress: ProgressFactory,
        seen: Snapshot | None = None,
    ) -> None:
        self.snapshot = seen
        self.progress = progress
        self._read = read

    @cached_property
    def graph(self) -> NamedGraph:
        """The whole graph, loaded on first use."""
        with self.progress("links") as tell:
            return self._read(tell)

    @property
    def names(self) -> Names:
        """Names of the nodes; they do not require loading the links of a store."""
        return self.graph.names if self.snapshot is None else Urls(self.snapshot)


def weighed(source: Source) -> NamedGraph:
    """Return the links of a store with the weights of the crawl, by its --weight-internal."""
    if (seen := source.snapshot) is None:
        raise UsageError("--crawl-weights needs a store: the weights in a graph file always count")
    if seen.frontier.terms.imported:
        return source.graph
    check_links(seen)
    with source.progress("links") as tell:
        named = _gathered(seen, map(_as_shares, links(seen, tell)))
    if named.weights is None and not asked_for_weights(seen):
        raise UsageError("the crawl weighed all links alike: it had no --weight-internal")
    return named


def asked_for_weights(seen: Snapshot) -> list[str]:
    """Return the settings that gave some links less weight, as options."""
    settings = tables.settings(seen.connection)
    return [f"--{name} {settings[name]}" for name in sorted(settings) if name.startswith(_WEIGHT)]


def _as_shares(block: FlowLinks) -> CashFlows:
    """Return the weights as multiples of 1, which a store encodes as `PARTS`.

    If all links of a page have the same weight, the store encodes it as 1.
    """
    _, page = np.unique(block.givers, return_inverse=True)
    largest = np.zeros(len(block.givers), dtype=np.int64)
    np.maximum.at(largest, page, block.weights)
    scale = np.where(largest[page] > 1, PARTS, 1)
    return CashFlows(block.givers, block.ends, block.weights / scale)


def crawled(source: Source) -> NamedGraph:
    """Return the pages that were read, and the links between them."""
    if source.snapshot is None:
        raise UsageError("a graph file does not say which pages were crawled: use a store")
    return with_nodes(source.graph, source.snapshot.was_read)


def unseen(_label: str) -> AbstractContextManager[Progress]:
    """Return a progress context that shows nothing."""
    return nullcontext(unreported)


@contextmanager
def opened(store: Path, graph: Path | None, progress: ProgressFactory = unseen) -> Iterator[Source]:
    """Open the graph file, or without one the store."""
    if graph is not None:
        from minicrawl.graphfiles import read  # most graphs are those of stores

        yield Source(partial(read, graph), progress)
        return
    with snapshot(store) as seen:
        yield Source(partial(_links, seen), progress, seen)


class Urls:
    """URLs of the pages of a store, queried on demand."""

    def __init__(self, seen: Snapshot) -> None:
        self._seen = seen

    def __len__(self) -> int:
        return len(self._seen)

    def of(self, nodes: Sequence[int]) -> list[str]:
        found: list[str] = []
        with reporting_damage(self._seen.path):
            for first in range(0, len(nodes), _PAGES_AT_ONCE):
                block = nodes[first : first + _PAGES_AT_ONCE]
                found += questions.locations(self._seen.connection, block).urls
        return found

    def find(self, names: Sequence[str]) -> list[int | None]:
        homes = [location_of(self._seen, name) for name in names]
        wanted = [home for home in homes if home is not None]
        found = iter(questions.find_all(self._seen.connection, wanted))
        return [None if home is None else next(found) for home in homes]

    def hosts(self) -> NodeHosts:
        numbers: dict[str, int] = {}
        of_origin = [numbers.setdefault(host, len(numbers)) for host in self._seen.hosts]
        of_node = np.array(of_origin, dtype=np.int32)[self._seen.host_of]
        return NodeHosts(of_node, list(numbers))


def as_linked(source: Source, graph_of: str) -> Csr:
    """Return the links that pages have, without redirects; of all pages or the crawled ones."""
    if (seen := source.snapshot) is None:
        return (crawled(source) if graph_of == CRAWLED else source.graph).graph
    check_links(seen)
    is_node = seen.was_read if graph_of == CRAWLED else np.ones(len(seen), dtype=np.bool_)
    rows = RowBuilder(len(seen))
    with source.progress("links") as tell:
        for givers, ends, _ in links_among(seen, is_node, tell):
            rows.add(givers, ends)
    return with_pages(rows.graph(), is_node)


def check_links(seen: Snapshot) -> None:
    """Raise UsageError if the store has no links to rank by."""
    if not seen.frontier.terms.links:
        raise UsageError(f"{seen.path} was crawled with --no-links: it has no links to rank by")
    if not len(seen):
        raise UsageError(f"{seen.path} has no page yet: there is nothing to rank")


def _links(seen: Snapshot, tell: Progress) -> NamedGraph:
    check_links(seen)
    if seen.frontier.terms.imported:
        return _imported(seen, tell)
    rows = RowBuilder(len(seen))
    for givers, ends, _ in flows(seen, tell):
        rows.add(givers, ends)
    return NamedGraph(graph=rows.graph(), names=Urls(seen))


def _imported(seen: Snapshot, tell: Progress) -> NamedGraph:
    """Return the imported graph, with its weights if they differ."""
    blocks = links(seen, tell)
    return _gathered(
        seen, (CashFlows(*some[:2], some.weights.astype(np.float64)) for some in blocks)
    )


def _gathered(seen: Snapshot, blocks: Iterable[CashFlows]) -> NamedGraph:
    """Return the graph without links of weight 0; equal weights are omitted."""
    gathering = LinkBuilder()
    for givers, ends, parts in blocks:
        counts = parts > 0
        gathering.add(LinkArrays(givers[counts], ends[counts], parts[counts]))
    graph, weights = gathering.graph_of(len(seen))
    alike = weights is None or bool((weights == 1).all())
    return NamedGraph(graph=graph, names=Urls(seen), weights=None if alike else weights)
