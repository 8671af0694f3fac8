"""Comparison of named ranks, with each other and with grades given by people.

A name stands for the saved rank of this name; if there is none, as for every graph file, the rank
of `by_name` is computed with its default options.

Grades come as CSV lines, each with a page and its grades: `url,grade`, or a column for each judge.
A list may begin with a header. With one judge, its first cell is `url`, `page` or `site`, or its
second is `grade`: other words could be an invalid grade. With several judges a cell may be empty,
if a judge did not grade the page. Empty lines are skipped. Sites may be graded too: the score of a
site is the sum of its pages' scores.

A list is read completely, or refused with the number of the bad line. A judge gives a node one
grade: duplicates count once, and contradictions are refused.
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
from minicrawl.report.snapshot import Snapshot, convergence_of, kept_scores, saved_ranks, told
from minicrawl.report.store_graph import ProgressFactory, Source
from minicrawl.store.derived import OPIC
from minicrawl.web import urls
from minicrawl.web.urls import site


class KnownRank(NamedTuple):
    """A rank of all nodes; pages that became known later have NaN."""

    name: str
    scores: Floats
    origin: str
    """Description of where the scores are from."""


class Compared(NamedTuple):
    """A rank beside another one, the reference."""

    one: KnownRank
    other: KnownRank
    comparison: Comparison


def compared(source: Source, one: str, other: str, ks: Sequence[int]) -> Compared:
    """Compare rank `one` with the reference `other`."""
    one, other = full_name(source, one), full_name(source, other)
    first = rank_of(source, one)
    second = first if one == other else rank_of(source, other)
    with source.progress("comparison") as tell:
        found = compare.compare(first.scores, second.scores, ks, tell=tell)
    return Compared(first, second, found)


def full_name(source: Source, name: str) -> str:
    """Return the full name of a rank: hits stands for hits-authorities, and importance for opic.

    A rank that is neither saved nor computable is refused.
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
    """Return the saved rank of this name, or compute it."""
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
    """Return the ranks of the store, with True if converged; opic reports its own convergence."""
    if (seen := source.snapshot) is None:
        return {}
    rows = (one.row for one in saved_ranks(seen.path, seen.connection))
    return {OPIC: True} | {row.name: row.converged for row in rows}


def _told(origin: str, *, converged: bool) -> str:
    return origin if converged else f"{origin}, not converged"


# ---------------------------------------------------------------- what people think

_ALLOWED = {str(grade): float(grade) for grade in range(1, GRADES + 1)}
_NO_GRADE = {"": np.nan}
_ONE_JUDGE = 2
"""Number of columns with one judge: the page and its grade."""
_PAGE_HEADINGS = ("url", "page", "site")
_SHOWN = 60  # characters of a bad line that its message quotes


class Label(NamedTuple):
    """A page as named in the list, its grades with NaN for none, and its line."""

    name: str
    grades: tuple[float, ...]
    line: int


class Labels(NamedTuple):
    """Grades given by people; `place` is the name of the list in messages."""

    judges: list[str]
    of_pages: list[Label]
    place: str


def read(lines: Iterable[str], place: str) -> Labels:
    """Return all labels, at least one; messages call the list `place`."""
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
    """Agreement of a rank with people, and the graded pages without a score."""

    rank: KnownRank
    agreement: Agreement
    judges: dict[str, JudgeAgreement]
    """Agreement of each judge, if there are several and the judge graded any of the pages."""
    unknown: list[str]
    unscored: list[str]
    """Pages that became known after the rank was computed."""


def judged(
    source: Source, name: str, labels: Labels, *, best: int = GRADES, sites: bool = False
) -> Judged:
    """Compare the rank of this name with the labels; `best` is 4 or 1."""
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
    """Return the label of each known node, in the order of the nodes."""
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
    """Return a text such as `grade 3`, or `grades 3, -, 4`."""
    shown = ", ".join("-" if np.isnan(grade) else f"{grade:.0f}" for grade in label.grades)
    return f"grade{'s' if len(label.grades) > 1 else ''} {shown}"


# ---------------------------------------------------------------- sites


def _site_of(name: str) -> str:
    return site(urls.host(name) if "://" in name else name.lower())


def _summed(scores: Floats, site_of: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the score of each site; NaN if none of its pages has one."""
    is_known = ~np.isnan(scores)
    known = np.bincount(site_of, is_known)
    sums = np.bincount(site_of, np.where(is_known, scores, 0))
    return np.where(known > 0, sums, np.nan)


# ================================================================ stability
#
# Stability of a rank when random pages are removed (Ng, Zheng, Jordan, 2001).
#
# Each run removes the same number of nodes from the whole graph and compares the rank of the rest
# with the rank of the whole, among the nodes that stay. The same dice give the same numbers. The
# place of a node is one more than the number of better nodes; ties go to the first node of the
# graph.

Rank = Callable[[NamedGraph, Progress], Scores]

_FEWEST = 2
"""Fewest nodes with an order."""


class Loss(NamedTuple):
    """Share of the nodes that each run removes, and number of runs."""

    drop: float
    times: int


class BestNodes(NamedTuple):
    """Sizes of the overlaps to compute, and number of best nodes whose places are reported."""

    ks: Sequence[int]
    places: int = 0


class Spread(NamedTuple):
    """A measure over the runs; None if no run has a value."""

    mean: float | None
    least: float | None


class Placed(NamedTuple):
    """A node with its place in the whole and in each run; None if the run removed it."""

    name: str
    place: int
    in_runs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """Comparison of a rank of the whole graph with that of its parts, which have `stay` nodes."""

    nodes: int
    edges: int
    stay: int
    kendall: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    best: tuple[Placed, ...]
    remarks: tuple[str, ...]


def computed_anew(name: str) -> Rank:
    """Return the rank of this name with default options."""
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
    """Measure the stability of a rank of this graph under the loss."""
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
    """Return the number of nodes to remove."""
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
    """Return the progress of each of `count` equally long parts."""
    return (part_of(tell, done / count, (done + 1) / count) for done in range(count))


def _placed(names: Sequence[str], places: Sequence[Sequence[int | None]]) -> Iterator[Placed]:
    """Yield the best nodes in order; each of `places` has all of them in one run."""
    for number, name in enumerate(names):
        yield Placed(name, number + 1, tuple(of_run[number] for of_run in places))


def _places_in(stays: Mask, part: Floats, nodes: Sequence[int]) -> list[int | None]:
    """Return the places of these nodes of the whole among the nodes that stay."""
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
