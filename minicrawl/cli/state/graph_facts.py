"""The shape of a graph in words: its size, components, distances and degrees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from minicrawl.model import CRAWLED
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.graph.degrees import DegreeDistribution
    from minicrawl.graph.outline import Outline
    from minicrawl.report.progress.samples import Sample


def outline_facts(found: Outline) -> Iterator[tuple[str, str]]:
    """Yield the facts about a graph that `graph` and `status` show."""
    yield "nodes", f"{found.nodes:,}, {found.dangling:,} without links"
    yield "links", f"{found.edges:,}, {found.self_links:,} from a node to itself"
    yield (
        "strong components",
        f"{found.strong_components:,}; the largest has {counted(found.largest_strong, 'node')} "
        f"and {counted(found.largest_strong_edges, 'link')}",
    )
    yield (
        "weak components",
        f"{found.weak_components:,}; the largest has {counted(found.largest_weak, 'node')}",
    )
    if (parts := found.bow_tie) is not None:
        yield (
            "bow-tie",
            f"core {parts.core:,}, in {parts.leading_in:,}, out {parts.leading_out:,}, "
            f"tendrils {parts.tendrils:,}, apart {parts.apart:,}",
        )
    how = ", estimated by HyperBall" if found.by_hyperball else ", measured from some nodes"
    how = "" if found.is_exact or found.mean_distance is None else how
    yield "mean distance", f"{_mean(found)}{how}"
    yield "diameter", _diameter(found)
    yield "reciprocity", _reciprocity(found)
    yield "links from a node", _degrees(found.out_degrees)
    yield "links to a node", _degrees(found.in_degrees)


def sample_facts(sample: Sample, now: float) -> Iterator[tuple[str, str]]:
    """Yield the facts about a sample that `status` shows."""
    yield f"graph of {_pages(sample)}", _basis_and_age(sample, now)
    most = "" if sample.maximum is None else f" of at most {sample.maximum:,}"
    errors = counted(sample.errors, "error")
    yield (
        "pages asked for",
        f"{sample.crawled:,}{most} crawled, {errors}; {sample.total:,} in total",
    )
    yield from outline_facts(sample.outline)


def sample_rows(sample: Sample | None, now: float) -> Iterator[tuple[str, str, str]]:
    """Yield the rows about a sample in the display of a running crawl: a label and two columns."""
    if sample is None:
        yield "graph", "the first figures come soon", ""
        return
    found = sample.outline
    yield "graph", f"{found.nodes:,} {_pages(sample)}", f"{counted(found.edges, 'link')}"
    yield (
        "components",
        f"{found.strong_components:,} strong, {found.weak_components:,} weak",
        f"the largest has {counted(found.largest_strong, 'page')}; {found.dangling:,} dangling",
    )
    yield (
        "distances",
        f"diameter {_diameter(found)}, mean {_mean(found)}",
        f"{_reciprocity(found)} of the links are mutual",
    )
    yield "links from", _degrees(found.out_degrees), ""
    yield "links to", _degrees(found.in_degrees), ""
    yield "figures", _basis_and_age(sample, now), ""


def _pages(sample: Sample) -> str:
    return "crawled pages" if sample.graph_of == CRAWLED else "known pages"


def _basis_and_age(sample: Sample, now: float) -> str:
    """Return the method by which the figures were obtained, and their age."""
    shown = f"{sample.basis}, {max(0.0, now - sample.at):,.0f} s old"
    if sample.distances_at == sample.at and sample.distances_basis == sample.basis:
        return shown
    age_s = max(0.0, now - sample.distances_at)
    return f"{shown}; distances {sample.distances_basis}, {age_s:,.0f} s old"


def _mean(found: Outline) -> str:
    if found.mean_distance is None:
        return "not known, as paths are too long" if found.diameter else "none"
    error = "" if found.is_exact else f" ± {found.mean_distance_error:.2g}"
    return f"{found.mean_distance:.4g}{error} links"


def _diameter(found: Outline) -> str:
    return f"{'' if found.is_exact else 'at least '}{found.diameter:,}"


def _reciprocity(found: Outline) -> str:
    return "none" if found.reciprocity is None else f"{found.reciprocity:.1%}"


def _degrees(found: DegreeDistribution) -> str:
    ranges = ", ".join(f"{name}: {nodes:,}" for name, nodes in found.ranges() if nodes)
    return f"{ranges}; at most {found.most:,}{_fit(found)}" if ranges else "none"


def _fit(found: DegreeDistribution) -> str:
    if found.exponent is None:
        return ""
    exponent = f"exponent {found.exponent:.2f} ± {found.exponent_error:.2f}"
    if found.p_value is None:  # a sample stored by an older version
        return f", {exponent}"
    judged = f"p {found.p_value:.2g}, distance {found.ks_distance:.2g}"
    return f", {exponent} ({judged})" if found.is_power_law else f", no power law ({judged})"
