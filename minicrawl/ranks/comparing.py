"""Ranks by their names: two of them side by side, and one beside what people think.

A name stands for the rank that is kept by it; where none is, as with every graph file, for the one
of `analysis.ranks` with its usual options.

People give grades in lines of CSV, each with a page and its grades: `url,grade`, or a column for
each judge. A list may begin with a line that names the columns. With one judge the first of them is
`url`, `page` or `site`, or the second is `grade`: other words may be a bad grade of a page. With
several judges a cell may be empty, for one who did not grade the page. Empty lines are skipped.
Sites may be graded too: the score of a site is the sum of its pages' scores.

Laws: a list is read whole or refused with the line that is wrong. A judge gives a node one grade:
what is said twice counts once, and grades that differ are refused.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Mask, NamedGraph, with_nodes
from minicrawl.progress import Progress
from minicrawl.progress import part as part_of
from minicrawl.ranks import compare
from minicrawl.ranks.by_name import IMPORTANCE, RANKS
from minicrawl.ranks.compare import (
    GRADES,
    Agreement,
    Comparison,
    JudgeAgreement,
    agreement,
    beside_mean,
    mean_grades,
)
from minicrawl.ranks.compare import compare as compare_ranks
from minicrawl.ranks.scores import Floats, Scores
from minicrawl.ranks.sites import SiteNames, sites_of
from minicrawl.report.kept import convergence_of, kept, kept_scores, told
from minicrawl.report.snapshot import Snapshot
from minicrawl.report.source import ProgressFactory, Source
from minicrawl.store.derived import OPIC
from minicrawl.web import urls
from minicrawl.web.urls import site


class KnownRank(NamedTuple):
    """A rank of all nodes; a page that became known later has NaN."""

    name: str
    scores: Floats
    origin: str
    """Where the scores are from, in words."""


class Compared(NamedTuple):
    """A rank beside another, which is the reference."""

    one: KnownRank
    other: KnownRank
    comparison: Comparison


def compared(source: Source, one: str, other: str, ks: Sequence[int]) -> Compared:
    """How far rank `one` agrees with the other."""
    one, other = full_name(source, one), full_name(source, other)
    first = rank_of(source, one)
    second = first if one == other else rank_of(source, other)
    with source.progress("comparison") as tell:
        found = compare.compare(first.scores, second.scores, ks, tell=tell)
    return Compared(first, second, found)


def full_name(source: Source, name: str) -> str:
    """The name of a rank, or of the main one of a command: hits stands for hits-authorities, and
    importance for opic.

    A rank that is neither kept nor can be computed is refused.
    """
    known = dict.fromkeys((*_converged(source), *RANKS))
    if name == IMPORTANCE and OPIC in known:
        return OPIC
    if name in known:
        return name
    for other in known:
        if other.startswith(f"{name}-"):
            return other
    raise UsageError(f"no rank {name} is known; there are {', '.join(known)}")


def rank_of(source: Source, name: str) -> KnownRank:
    """The rank that is kept by this name, or else computed."""
    seen = source.snapshot
    if seen is not None and (found := kept_scores(seen, name)) is not None:
        return KnownRank(name, found, _origin(seen, name, _converged(source)))
    graph = source.graph
    with source.progress(name) as tell:
        scores = RANKS[name](graph, tell)
    return KnownRank(
        name, scores.values, _told("with its usual options", converged=scores.converged)
    )


def _origin(seen: Snapshot, name: str, converged: Mapping[str, bool]) -> str:
    if name == OPIC:
        return told(convergence_of(seen))
    return _told("kept", converged=converged[name])


def _converged(source: Source) -> dict[str, bool]:
    """The ranks of the store, and whether each has converged; the importance tells by itself."""
    if (seen := source.snapshot) is None:
        return {}
    rows = (one.row for one in kept(seen.path, seen.connection))
    return {OPIC: True} | {row.name: row.converged for row in rows}


def _told(origin: str, *, converged: bool) -> str:
    return origin if converged else f"{origin}, not converged"


# ---------------------------------------------------------------- what people think

_ALLOWED = {str(grade): float(grade) for grade in range(1, GRADES + 1)}
_NO_GRADE = {"": np.nan}
_ONE_JUDGE = 2
"""Columns: the page and its grade."""
_PAGE_HEADINGS = ("url", "page", "site")
_SHOWN = 60  # characters of a bad line that its message quotes


class Label(NamedTuple):
    """A page as the list calls it, its grades, NaN for none, and where that is said."""

    name: str
    grades: tuple[float, ...]
    line: int


class Labels(NamedTuple):
    """What people think, and what the list calls them; `place` is what a message calls the list."""

    judges: list[str]
    of_pages: list[Label]
    place: str


def read(lines: Iterable[str], place: str) -> Labels:
    """All labels, at least one; `place` is what a message calls the list."""
    rows = csv.reader(lines, strict=True)
    try:
        said = [(rows.line_num, [cell.strip() for cell in row]) for row in rows]
    except csv.Error as error:
        raise UsageError(f"{place}, line {rows.line_num}: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8: {error.reason}") from None
    said = [(line, cells) for line, cells in said if any(cells)]
    if said and said[0][0] == 1 and _names_columns(said[0][1]):
        judges, said = said[0][1][1:], said[1:]
    else:
        judges = [f"judge {number}" for number in range(1, len(said[0][1]) if said else 1)]
    if not said:
        raise UsageError(f"{place}: nothing is graded in it; expected lines of url,grade")
    return Labels(judges, list(_labels(said, max(len(judges), 1), place)), place)


def _labels(rows: Iterable[tuple[int, list[str]]], judges: int, place: str) -> Iterator[Label]:
    known = _ALLOWED if judges == 1 else _ALLOWED | _NO_GRADE
    for line, (name, *grades) in rows:
        is_whole = name and len(grades) == judges and any(grades)
        if not is_whole or not known.keys() >= {*grades}:
            given = "a grade" if judges == 1 else f"{judges} grades"
            raise UsageError(
                f"{place}, line {line}: expected a URL and {given} from 1 to {GRADES}, "
                f"found {','.join([name, *grades])[:_SHOWN]!r}"
            )
        yield Label(name, tuple(known[grade] for grade in grades), line)


def _names_columns(cells: Sequence[str]) -> bool:
    if not all(cells) or any(map(_is_number, cells[1:])):
        return False
    page, *judges = map(str.lower, cells)
    if len(cells) == _ONE_JUDGE:
        return page in _PAGE_HEADINGS or judges == ["grade"]
    return len(cells) > _ONE_JUDGE


def _is_number(cell: str) -> bool:
    return cell.lstrip("-").replace(".", "").isdigit()


class Judged(NamedTuple):
    """How far a rank agrees with people, and which of their pages it does not have."""

    rank: KnownRank
    agreement: Agreement
    judges: dict[str, JudgeAgreement]
    """Those who graded some of the pages, where there are several."""
    unknown: list[str]
    unscored: list[str]
    """They became known after the rank was made."""


def judged(
    source: Source, name: str, labels: Labels, *, best: int = GRADES, sites: bool = False
) -> Judged:
    """The rank of this name beside the labels; `best` is 4 or 1."""
    name = full_name(source, name)
    called = [_site_of(label.name) if sites else label.name for label in labels.of_pages]
    sites_names = sites_of(source.names) if sites else None
    names = source.names if sites_names is None else SiteNames(sites_names.names)
    nodes = names.find(called)
    graded = _graded(labels, nodes)
    unknown = [
        label.name for label, node in zip(labels.of_pages, nodes, strict=True) if node is None
    ]
    if not graded:
        pages = f"{len(labels.of_pages):,} {'sites' if sites else 'pages'}"
        raise UsageError(f"{labels.place}: none of its {pages} is known; give their URLs")
    rank = rank_of(source, name)
    scores = rank.scores if sites_names is None else _summed(rank.scores, sites_names.of_node)
    scored = {node: label for node, label in graded.items() if not np.isnan(scores[node])}
    if not scored:
        raise UsageError(
            f"{name} was made before any page of {labels.place} became known: make it anew"
        )
    grades = np.array([label.grades for label in scored.values()])
    found = agreement(scores[list(scored)].astype(np.float64), mean_grades(grades), best=best)
    unscored = [label.name for node, label in graded.items() if node not in scored]
    return Judged(rank, found, _judges(labels, grades), list(dict.fromkeys(unknown)), unscored)


def _judges(labels: Labels, grades: NDArray[np.float64]) -> dict[str, JudgeAgreement]:
    beside = zip(labels.judges, beside_mean(grades), strict=True)
    return {judge: found for judge, found in beside if found} if len(labels.judges) > 1 else {}


def _graded(labels: Labels, nodes: Sequence[int | None]) -> dict[int, Label]:
    """The label of each node that is known, in the order of the nodes."""
    found: dict[int, Label] = {}
    for label, node in zip(labels.of_pages, nodes, strict=True):
        if node is None:
            continue
        first = found.setdefault(node, label)
        if not np.array_equal(first.grades, label.grades, equal_nan=True):
            raise UsageError(
                f"{labels.place}, line {label.line}: {label.name} has the {_grades_told(label)}, "
                f"and {_grades_told(first).partition(' ')[2]} on line {first.line}: give it one"
            )
    return dict(sorted(found.items()))


def _grades_told(label: Label) -> str:
    """`grade 3`, or `grades 3, -, 4`."""
    shown = ", ".join("-" if np.isnan(grade) else f"{grade:.0f}" for grade in label.grades)
    return f"grade{'s' if len(label.grades) > 1 else ''} {shown}"


# ---------------------------------------------------------------- sites


def _site_of(name: str) -> str:
    return site(urls.host(name) if "://" in name else name.lower())


def _summed(scores: Floats, site_of: NDArray[np.int32]) -> NDArray[np.float64]:
    """The score of each site; NaN where none of its pages has one."""
    is_known = ~np.isnan(scores)
    known = np.bincount(site_of, is_known)
    sums = np.bincount(site_of, np.where(is_known, scores, 0))
    return np.where(known > 0, sums, np.nan)


# ================================================================ stability
#
# What becomes of a rank when pages are taken away at random (Ng, Zheng, Jordan, 2001).
#
# Laws: every time as many nodes are taken from the whole graph; the rank of what is left is held
# against the rank of the whole, among those that stay. Same dice, same numbers. A place is one more
# than the number of nodes that are better; of equals, the first of the graph is better.

Rank = Callable[[NamedGraph, Progress], Scores]

_FEWEST = 2
"""Fewer have no order."""


class Loss(NamedTuple):
    """The share of the nodes that is taken away, and how often."""

    drop: float
    times: int


class BestNodes(NamedTuple):
    """How many of the best nodes are compared, and of how many the places are told."""

    ks: Sequence[int]
    places: int = 0


class Spread(NamedTuple):
    """A measure over the times; None where it had no number at any of them."""

    mean: float | None
    least: float | None


class Placed(NamedTuple):
    """A node, its place in the whole, and in each of the runs; None where it was taken away."""

    name: str
    place: int
    in_runs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A rank of so many nodes, held against itself where so many stay."""

    nodes: int
    edges: int
    stay: int
    kendall: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    best: tuple[Placed, ...]
    remarks: tuple[str, ...]


def computed_anew(name: str) -> Rank:
    """The rank of this name, with its usual options."""
    if name not in RANKS:
        raise UsageError(f"no rank {name} can be computed anew; there are {', '.join(RANKS)}")
    return RANKS[name]


def stability(
    named: NamedGraph,
    rank: Rank,
    loss: Loss,
    best: BestNodes,
    dice: Generator,
    progress: ProgressFactory,
) -> Stability:
    """How this rank of a graph bears the loss."""
    nodes, gone = named.graph.nodes, _gone(loss.drop, named.graph.nodes)
    runs: list[Comparison] = []
    places: list[list[int | None]] = []
    with progress("stability") as tell:
        tells = _parts(tell, loss.times + 1)
        whole = rank(named, next(tells)).values
        first = np.argsort(-whole, kind="stable")[: best.places].tolist()
        for tell_part in tells:
            stays = _all_but(gone, nodes, dice)
            part = rank(with_nodes(named, stays), tell_part).values
            runs.append(compare_ranks(part, whole[stays], best.ks))
            places.append(_places_in(stays, part, first))
            tell_part(1.0)
    return Stability(
        nodes=nodes,
        edges=named.graph.edges,
        stay=nodes - gone,
        kendall=_spread([run.kendall for run in runs]),
        spearman=_spread([run.spearman for run in runs]),
        overlap={k: _spread([run.overlap[k] for run in runs]) for k in best.ks},
        best=tuple(_placed(named.names.of(first), places)),
        remarks=tuple(_remarks(runs, nodes - gone, best.ks)),
    )


def _gone(drop: float, nodes: int) -> int:
    """How many are taken away."""
    gone = round(drop * nodes)
    if not gone:
        raise UsageError(f"--drop {drop:g} takes none of {nodes:,} nodes away: take more")
    if nodes - gone < _FEWEST:
        raise UsageError(f"--drop {drop:g} leaves {nodes - gone} of {nodes:,} nodes: take fewer")
    return gone


def _all_but(gone: int, nodes: int, dice: Generator) -> Mask:
    stays = np.ones(nodes, dtype=np.bool_)
    stays[dice.choice(nodes, gone, replace=False)] = False
    return stays


def _parts(tell: Progress, count: int) -> Iterator[Progress]:
    """The progress of each of so many parts that take equally long."""
    return (part_of(tell, done / count, (done + 1) / count) for done in range(count))


def _placed(names: Sequence[str], places: Sequence[Sequence[int | None]]) -> Iterator[Placed]:
    """The best nodes, the best first; each of `places` has them all in one run."""
    for number, name in enumerate(names):
        yield Placed(name, number + 1, tuple(of_run[number] for of_run in places))


def _places_in(stays: Mask, part: Floats, nodes: Sequence[int]) -> list[int | None]:
    """The places of these nodes of the whole among those that stay."""
    places = np.empty(len(part), dtype=np.int64)
    places[np.argsort(-part, kind="stable")] = np.arange(1, len(part) + 1)
    numbers = np.cumsum(stays) - 1
    return [int(places[numbers[node]]) if stays[node] else None for node in nodes]


def _spread(found: Sequence[float | None]) -> Spread:
    known = [value for value in found if value is not None]
    return Spread(fmean(known), min(known)) if known else Spread(None, None)


def _remarks(runs: Sequence[Comparison], stay: int, ks: Sequence[int]) -> Iterator[str]:
    if silent := sum(run.kendall is None for run in runs):
        yield f"{silent} of {len(runs)} times all scores of a rank were equal: there is no order"
    if any(k > stay for k in ks):
        yield f"there is no overlap of more than {stay:,} nodes"
