"""Links of all pages, in blocks: as cash flows along them, or as the pages have them.

Cash follows redirects, and flows from a page that stands for another to that page. Neither is a
link that a page has. A page's link to itself and the links of duplicates are, but carry no cash.

giver    a page that was read, or that stands for another
end      the page that the cash of a link reached, after all redirects
part     the share of its giver's cash that a link receives
weight   the weight of a link among the links of its giver; usually 1

`progress` receives the share of the givers that is done.
"""

from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.opic.ledger.money import PARTS
from minicrawl.ports import Progress
from minicrawl.report.snapshot import Numbers, Snapshot
from minicrawl.states import State
from minicrawl.store import step_log
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.step_log import Spendings
from minicrawl.store.stored_links import unpack, unpack_plain, unpack_written


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
    progress: Progress = lambda _share: None,
    givers: Numbers | None = None,
) -> Iterator[CashFlows]:
    """Yield the current links of all pages, or of `givers`, with their parts."""
    ends = final_pages(snapshot)
    with reporting_damage(snapshot.path):
        if givers is None:
            blocks = _current(snapshot, 0, progress)
        else:
            last = snapshot.last_spent[np.unique(givers)].tolist()
            blocks = step_log.spendings(snapshot.connection, seqs=last)
        for block in blocks:
            for links in _flows_of(block, snapshot.frontier.small_edge):
                led = links._replace(ends=ends[links.ends])
                differs = led.givers != led.ends  # links from a page to itself are left out
                yield CashFlows(*(column[differs] for column in led))


def links(snapshot: Snapshot, progress: Progress = lambda _share: None) -> Iterator[FlowLinks]:
    """Yield all links that carry cash, with weights; of links to one end, only the first counts."""
    ends = final_pages(snapshot)
    for written in links_as_written(snapshot, progress=progress):
        led = written._replace(ends=ends[written.ends])
        places = np.flatnonzero(led.givers != led.ends)
        # Links as written are distinct already; only redirects can lead two of them to one page.
        if (led.ends != written.ends).any():
            keys = led.givers[places] * len(ends) + led.ends[places]
            _, firsts = np.unique(keys, return_index=True)
            places = places[firsts]
        yield FlowLinks(*(column[places] for column in led))


def links_as_written(
    snapshot: Snapshot, after: int = 0, progress: Progress = lambda _share: None
) -> Iterator[FlowLinks]:
    """Yield the links of pages whose last turn came after this step, redirects not followed."""
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, after, progress):
            plain, custom = block.split()
            if plain.blobs:
                counts, targets = unpack_plain(plain.blobs)
                yield FlowLinks(
                    np.repeat(plain.pages, counts), targets, np.ones(len(targets), dtype=np.int64)
                )
            if custom.blobs:
                spendings = list(map(unpack, custom.blobs))
                weights = [spending.weights or [1] * len(spending.links) for spending in spendings]
                yield FlowLinks(
                    np.repeat(custom.pages, list(map(len, weights))),
                    np.array([link for spending in spendings for link in spending.links]),
                    np.array(list(chain.from_iterable(weights))),
                )


def page_links(snapshot: Snapshot, progress: Progress = lambda _share: None) -> Iterator[FlowLinks]:
    """Yield the links that pages have, no redirects; one without cash has the usual weight."""
    with reporting_damage(snapshot.path):
        for block in _current(snapshot, 0, progress):
            is_visit = block.kinds == StepKind.VISIT
            plain, custom = block.only(is_visit).split()
            if plain.blobs:
                counts, targets = unpack_written(plain.pages, plain.blobs)
                weights = np.ones(len(targets), dtype=np.int64)
                yield FlowLinks(np.repeat(plain.pages, counts), targets, weights)
            for part, are_copies in ((custom, False), (block.only(~is_visit), True)):
                if part.blobs:
                    pages = part.pages.tolist()
                    lines = [
                        _written(page, unpack(blob), is_copy=are_copies)
                        for page, blob in zip(pages, part.blobs, strict=True)
                    ]
                    counts = np.array([len(links) for links, _ in lines])
                    both = (
                        np.array([*chain(*column)], np.int64) for column in zip(*lines, strict=True)
                    )
                    yield FlowLinks(np.repeat(part.pages, counts), *both)


def linked_from(snapshot: Snapshot, page: int) -> list[int]:
    spending = snapshot.frontier.spendings.of(page)
    return _written(page, spending, is_copy=page in snapshot.frontier.books.forwards)[0]


def _written(page: int, spending: Spending, *, is_copy: bool) -> tuple[list[int], list[int]]:
    links, weights = ([*spending.unpaid], []) if is_copy else map(list, spending[:2])
    links += [page] * spending.self_link
    usual = PARTS if weights else 1
    return links, weights + [usual] * (len(links) - len(weights))


def links_among(
    snapshot: Snapshot, is_node: NDArray[np.bool_], progress: Progress = lambda _share: None
) -> Iterator[FlowLinks]:
    """Yield the links between these pages, through redirects that are not among them."""
    forwards, ends = snapshot.frontier.books.forwards, np.arange(len(snapshot))
    for page in forwards:
        end = page
        while not is_node[end] and end in forwards:
            end = forwards[end]
        ends[page] = end
    for block in page_links(snapshot, progress):
        led = block._replace(ends=ends[block.ends])
        inside = is_node[led.givers] & is_node[led.ends]
        yield led if inside.all() else FlowLinks(*(column[inside] for column in led))


def _current(snapshot: Snapshot, after: int, progress: Progress) -> Iterator[Spendings]:
    """Yield the last spending of every page."""
    # The log keeps every turn, and a page that was read again has several: its last one has the
    # current links.
    last = snapshot.last_spent
    givers, done = int(np.count_nonzero(last > after)), 0
    for block in step_log.spendings(snapshot.connection, after):
        newest = block.only(last[block.pages] == block.seqs)
        yield newest
        done += len(newest.pages)
        progress(done / max(givers, 1))


def _flows_of(block: Spendings, edge: float) -> Iterator[CashFlows]:
    plain, custom = block.split()
    if plain.blobs:
        counts, targets = unpack_plain(plain.blobs)
        pot = np.where(plain.kinds == StepKind.FORWARD, 1.0, 1 - edge)
        parts = np.repeat(pot / np.maximum(counts, 1), counts)
        yield CashFlows(np.repeat(plain.pages, counts), targets, parts)
    if custom.blobs:
        spendings = list(map(unpack, custom.blobs))
        yield CashFlows(
            np.repeat(custom.pages, [len(spending.links) for spending in spendings]),
            np.array([link for spending in spendings for link in spending.links]),
            np.array([part for spending in spendings for part in _parts(spending, edge)]),
        )


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
