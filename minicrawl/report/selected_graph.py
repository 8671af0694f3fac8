"""Link graph of a store for files, of pages or of hosts, in blocks.

Laws: the graph has the links from selected pages to selected pages, each once, including a page's
link to itself. A redirect is not a link: a page is written with the page it stands for, and a
link with the page its target stands for. A link to a redirect that is not selected is included if
it leads to a selected page. The weight of a link between hosts is the number of links between
their pages, or the sum of their weights in an imported graph; links within a host are a link of
the host to itself. Memory holds the snapshot's columns and a number for each pair of linked
hosts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.named_graph import NodeHosts
from minicrawl.ports import Progress, unreported
from minicrawl.report.graph.flows import FlowLinks, final_pages, links_among, page_links
from minicrawl.report.graph.source import Urls
from minicrawl.report.saved_ranks import Floats, scores
from minicrawl.report.selected_pages import (
    LINK_COLUMNS,
    PAGE_LINK_COLUMNS,
    ROWS_AT_ONCE,
    Block,
    PageSelection,
    nan_as_none,
    score_column,
    selected_pages,
)
from minicrawl.report.snapshot import (
    LABELS,
    Numbers,
    Snapshot,
    _places,
    host_name,
    refuse_without_links,
    urls,
)


class Drawing(NamedTuple):
    attributes: Mapping[str, type]
    """Attributes of nodes besides id and label, by type; numbers may be None."""
    nodes: Iterable[Block]
    """Columns id, label and the attributes; an id is a number."""
    links: Iterable[Block]
    """Columns source, target and weight; source and target are node ids."""


PAIRS_AT_ONCE = 1 << 20


class _SelectedGraph:
    """Selected pages of a store, with extra scores and a progress callback."""

    def __init__(
        self,
        snapshot: Snapshot,
        selection: PageSelection,
        ranks: Sequence[str] = (),
        progress: Progress = unreported,
    ) -> None:
        refuse_without_links(snapshot)
        self._snapshot = snapshot
        self._pages = selected_pages(snapshot, selection)
        self._scores = {score_column(name): scores(snapshot, name) for name in ranks}
        self._tell = progress

    def _attributes(self, **own: type) -> dict[str, type]:
        return own | dict.fromkeys(self._scores, float)


class PageGraph(_SelectedGraph):
    """Pages and the links between them. Node ids are page ids."""

    columns = PAGE_LINK_COLUMNS

    def drawing(self) -> Drawing:
        attributes = self._attributes(importance=float, host=str, state=str, stands_for=str)
        return Drawing(attributes, self._nodes(), self._links())

    def named_links(self) -> Iterator[Block]:
        """Yield the links as written, with the URLs of their ends."""
        is_chosen, leads_to = _mask(self._snapshot, self._pages), final_pages(self._snapshot)
        for block in page_links(self._snapshot, self._tell):
            is_target_chosen = is_chosen[block.ends] | is_chosen[leads_to[block.ends]]
            inside = is_chosen[block.givers] & is_target_chosen
            sources, targets, weights = (column[inside] for column in block)
            pages = np.stack((sources, targets, leads_to[targets]))
            known, places = np.unique(pages, return_inverse=True)
            names = np.array([*urls(self._snapshot, known), ""], dtype=object)
            places = places.reshape(3, -1)
            places[2, pages[2] == pages[1]] = len(known)
            named = (names[row].tolist() for row in places)
            source, target, end = named
            yield {"source": source, "target": target, "weight": weights.tolist(), "end": end}

    def _nodes(self) -> Iterator[Block]:
        snapshot, leads_to = self._snapshot, final_pages(self._snapshot)
        for start in range(0, len(self._pages), ROWS_AT_ONCE):
            pages = self._pages[start : start + ROWS_AT_ONCE]
            ends = leads_to[pages]
            moved = np.flatnonzero(ends != pages)
            stands_for = np.full(len(pages), "", dtype=object)
            stands_for[moved] = urls(snapshot, ends[moved])
            places = _places(snapshot, pages)
            yield {
                "id": pages.tolist(),
                "label": places.urls,
                "importance": snapshot.importance[pages].tolist(),
                "host": list(map(host_name, places.origins)),
                "state": [LABELS[state] for state in snapshot.states[pages].tolist()],
                "stands_for": stands_for.tolist(),
            } | {name: nan_as_none(values[pages]) for name, values in self._scores.items()}
            self._tell((start + len(pages)) / len(self._pages) / 2)

    def _links(self) -> Iterator[Block]:
        is_chosen = _mask(self._snapshot, self._pages)
        half = lambda share: self._tell((1 + share) / 2)  # noqa: E731
        for links in links_among(self._snapshot, is_chosen, half):
            # Duplicates arise where redirects meet.
            keys = links.givers * len(self._snapshot) + links.ends
            _, firsts = np.unique(keys, return_index=True)
            yield _as_block(FlowLinks(*(column[firsts] for column in links)))


class HostGraph(_SelectedGraph):
    """Hosts and the links between them, regardless of scheme and port."""

    columns = LINK_COLUMNS

    @cached_property
    def _hosts(self) -> NodeHosts:
        return Urls(self._snapshot).hosts()

    def drawing(self) -> Drawing:
        """Return the nodes and links. Importance and scores are sums over the selected pages."""
        attributes = self._attributes(importance=float, pages=int)
        return Drawing(attributes, self._nodes(), self._links())

    def named_links(self) -> Iterator[Block]:
        names = self._hosts.names
        for block in self._links():
            ends = {end: [names[number] for number in block[end]] for end in ("source", "target")}
            yield ends | {"weight": block["weight"]}

    def _nodes(self) -> Iterator[Block]:
        hosts_of_pages, count = self._hosts.of_node[self._pages], len(self._hosts.names)

        def summed(values: Floats) -> Floats:
            return np.bincount(hosts_of_pages, values[self._pages], count).astype(np.float64)

        pages = np.bincount(hosts_of_pages, minlength=count)
        columns: dict[str, NDArray[Any]] = {
            "importance": summed(self._snapshot.importance),
            "pages": pages,
        } | {name: summed(np.nan_to_num(values)) for name, values in self._scores.items()}
        order = np.argsort(-columns["importance"], kind="stable")
        hosts = order[pages[order] > 0]
        for start in range(0, len(hosts), ROWS_AT_ONCE):
            block = hosts[start : start + ROWS_AT_ONCE]
            yield {
                "id": block.tolist(),
                "label": [self._hosts.names[number] for number in block.tolist()],
            } | {name: values[block].tolist() for name, values in columns.items()}

    def _links(self) -> Iterator[Block]:
        host_of = self._hosts.of_node.astype(np.int64)
        hosts, is_given = max(len(self._hosts.names), 1), self._snapshot.frontier.terms.imported
        pairs = counts = np.empty(0, dtype=np.int64)
        new, added = list[tuple[Numbers, Numbers]](), 0
        for block in links_among(self._snapshot, _mask(self._snapshot, self._pages), self._tell):
            keys = host_of[block.givers] * hosts + host_of[block.ends]
            new.append((keys, block.weights if is_given else np.ones_like(block.weights)))
            added += len(keys)
            if added > max(PAIRS_AT_ONCE, len(pairs)):  # merged in batches
                pairs, counts = _merged([(pairs, counts), *new])
                new, added = [], 0
        pairs, counts = _merged([(pairs, counts), *new])
        for start in range(0, len(pairs), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            sources, targets = np.divmod(pairs[part], hosts)
            yield _as_block(FlowLinks(sources, targets, counts[part]))


def _merged(parts: Iterable[tuple[Numbers, Numbers]]) -> tuple[Numbers, Numbers]:
    """Return each pair of hosts once, with the sum of its counts."""
    pairs, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    distinct, places = np.unique(pairs, return_inverse=True)
    return distinct, np.bincount(places, weights=counts).astype(np.int64)


def _mask(snapshot: Snapshot, pages: Numbers) -> NDArray[np.bool_]:
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[pages] = True
    return is_chosen


def _as_block(links: FlowLinks) -> Block:
    givers, ends, weights = (column.tolist() for column in links)
    return {"source": givers, "target": ends, "weight": weights}
