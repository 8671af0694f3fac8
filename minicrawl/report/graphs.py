"""The link graph of a store, block by block: for files, of pages or of hosts.

Laws: only links between pages that were chosen are there, each once; a link to a page that stands
for another one leads to that. Between hosts a link weighs as many as there are of their pages'
links, or the weights of these in a graph that was imported; those inside a host are left out.
Memory holds the columns of the snapshot and, of hosts, a number for each pair that is linked.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.export.drawings import Drawing
from minicrawl.export.rows import Block
from minicrawl.progress import Progress, unreported
from minicrawl.report.flows import FlowLinks, links
from minicrawl.report.kept import scores
from minicrawl.report.ranks import Choice, chosen, or_none, score_column
from minicrawl.report.snapshot import LABELS, Snapshot, host
from minicrawl.store import questions
from minicrawl.store.trouble import reporting_damage

_ROWS_AT_ONCE = 10_000
_PAIRS_AT_ONCE = 1 << 20

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class _Graph:
    """What was chosen of a store, and whoever is told how much of it is done."""

    def __init__(
        self,
        snapshot: Snapshot,
        choice: Choice,
        ranks: Sequence[str] = (),
        tell: Progress = unreported,
    ) -> None:
        refuse_without_links(snapshot)
        self._snapshot = snapshot
        self._pages = chosen(snapshot, choice)
        self._scores = {score_column(name): scores(snapshot, name) for name in ranks}
        self._tell = tell


class PageGraph(_Graph):
    """Pages and the links between them; a node's id is the number of its page."""

    def drawing(self) -> Drawing:
        """Nodes and links."""
        attributes = {"importance": float, "host": str, "state": str}
        return Drawing(
            attributes | dict.fromkeys(self._scores, float), self._nodes(), self._links()
        )

    def named_links(self) -> Iterator[Block]:
        """The links by the URLs at their ends."""
        for block in _between(self._snapshot, self._pages, self._tell):
            ends, places = np.unique(np.stack(block[:2]), return_inverse=True)
            names = urls(self._snapshot, ends)
            sources, targets = ([names[place] for place in row] for row in places.reshape(2, -1))
            yield {"source": sources, "target": targets, "weight": block.weights.tolist()}

    def _nodes(self) -> Iterator[Block]:
        seen = self._snapshot
        for start in range(0, len(self._pages), _ROWS_AT_ONCE):
            pages = self._pages[start : start + _ROWS_AT_ONCE]
            places = _places(seen, pages)
            yield {
                "id": pages.tolist(),
                "label": places.urls,
                "importance": seen.importance[pages].tolist(),
                "host": list(map(host, places.origins)),
                "state": [LABELS[state] for state in seen.states[pages].tolist()],
            } | {name: or_none(values[pages]) for name, values in self._scores.items()}
            self._tell((start + len(pages)) / len(self._pages) / 2)

    def _links(self) -> Iterator[Block]:
        found = _between(self._snapshot, self._pages, lambda share: self._tell((1 + share) / 2))
        return map(_as_block, found)


class HostGraph(_Graph):
    """Hosts and the links between them; pages that differ by scheme or port share one."""

    @cached_property
    def _numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for name in self._snapshot.hosts:
            numbers.setdefault(name, len(numbers))
        return numbers

    @cached_property
    def _names(self) -> list[str]:
        return list(self._numbers)

    @cached_property
    def _host_of(self) -> Numbers:
        of_origin = [self._numbers[name] for name in self._snapshot.hosts]
        return np.array(of_origin, dtype=np.int64)[self._snapshot.host_of]

    def drawing(self) -> Drawing:
        """Nodes and links; importance and scores are those of all pages chosen together."""
        attributes = {"importance": float, "pages": int}
        return Drawing(
            attributes | dict.fromkeys(self._scores, float), self._nodes(), self._links()
        )

    def named_links(self) -> Iterator[Block]:
        """The links by the names of the hosts."""
        names = self._names
        for block in self._links():
            ends = {end: [names[number] for number in block[end]] for end in ("source", "target")}
            yield ends | {"weight": block["weight"]}

    def _nodes(self) -> Iterator[Block]:
        columns = self._columns()
        order = np.argsort(-columns["importance"], kind="stable")
        hosts = order[columns["pages"][order] > 0]
        for start in range(0, len(hosts), _ROWS_AT_ONCE):
            some = hosts[start : start + _ROWS_AT_ONCE]
            yield {
                "id": some.tolist(),
                "label": [self._names[number] for number in some.tolist()],
            } | {name: values[some].tolist() for name, values in columns.items()}

    def _columns(self) -> Mapping[str, NDArray[Any]]:
        hosts, count = self._host_of[self._pages], len(self._names)
        return {
            "importance": self._summed(self._snapshot.importance),
            "pages": np.bincount(hosts, minlength=count),
        } | {name: self._summed(np.nan_to_num(values)) for name, values in self._scores.items()}

    def _summed(self, values: Floats) -> Floats:
        hosts = self._host_of[self._pages]
        summed: Floats = np.bincount(
            hosts, weights=values[self._pages], minlength=len(self._names)
        ).astype(np.float64, copy=False)
        return summed

    def _links(self) -> Iterator[Block]:
        pairs, is_given = _Pairs(len(self._names)), self._snapshot.frontier.terms.imported
        for block in _between(self._snapshot, self._pages, self._tell):
            counts = block.weights if is_given else np.ones_like(block.weights)
            pairs.add(FlowLinks(self._host_of[block.givers], self._host_of[block.ends], counts))
        return map(_as_block, pairs.counted())


class _Pairs:
    """Counts pairs of hosts; now and then what was added is counted, and let go of."""

    def __init__(self, hosts: int) -> None:
        self._hosts = max(hosts, 1)
        self._keys = self._counts = np.empty(0, dtype=np.int64)
        self._new: list[tuple[Numbers, Numbers]] = []
        self._added = 0

    def add(self, found: FlowLinks) -> None:
        abroad = found.givers != found.ends
        sources, targets, counts = (column[abroad] for column in found)
        self._new.append((sources * self._hosts + targets, counts))
        self._added += len(counts)
        if self._added > max(_PAIRS_AT_ONCE, len(self._keys)):
            self._count()

    def counted(self) -> Iterator[FlowLinks]:
        self._count()
        for start in range(0, len(self._keys), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            sources, targets = np.divmod(self._keys[some], self._hosts)
            yield FlowLinks(sources, targets, self._counts[some])

    def _count(self) -> None:
        news = [(self._keys, self._counts), *self._new]
        keys, counts = (np.concatenate(column) for column in zip(*news, strict=True))
        self._new, self._added = [], 0
        self._keys, place = np.unique(keys, return_inverse=True)
        self._counts = np.bincount(place, weights=counts).astype(np.int64)


def refuse_without_links(snapshot: Snapshot) -> None:
    """Nobody can follow links that were not kept."""
    if not snapshot.frontier.terms.links:
        raise UsageError(f"{snapshot.path} was crawled with --no-links: it has no links to show")


def _between(snapshot: Snapshot, pages: Numbers, tell: Progress) -> Iterator[FlowLinks]:
    """The links of which both ends are among these pages."""
    is_chosen = np.zeros(len(snapshot), dtype=np.bool_)
    is_chosen[pages] = True
    for block in links(snapshot, tell):
        inside = is_chosen[block.givers] & is_chosen[block.ends]
        yield block if inside.all() else FlowLinks(*(column[inside] for column in block))


def _as_block(found: FlowLinks) -> Block:
    givers, ends, weights = (column.tolist() for column in found)
    return {"source": givers, "target": ends, "weight": weights}


def urls(snapshot: Snapshot, pages: Numbers) -> list[str]:
    """The URLs of any number of pages."""
    starts = range(0, len(pages), _ROWS_AT_ONCE)
    blocks = (_places(snapshot, pages[start : start + _ROWS_AT_ONCE]) for start in starts)
    return [url for block in blocks for url in block.urls]


def _places(snapshot: Snapshot, pages: Numbers) -> questions.PageLocations:
    with reporting_damage(snapshot.path):
        return questions.places(snapshot.connection, pages.tolist())
