"""Map of cores: points in the plane, about as far apart as their cores are in links.

The force layout of Kamada and Kawai (1989): a spring joins any two cores, as long as the path
between them. Its energy, the stress, is the sum over all pairs of

    ((distance on the map - links) / links)^2

Majorization (Gansner, Koren and North, 2004) moves all points to the minimum of a parabola that
bounds the stress from above, so no step increases it. A step size is not needed. The start is a
circle, so the map has no random part, and one of several minima is found.

links   of the shorter path, of the two directions; cores without a path are one link farther apart
        than the farthest cores with a path
"""

import numpy as np
from numpy.typing import NDArray

from minicrawl.ranks.scores import Floats

_STEPS = 500
_STILL = 1e-7
"""Relative fall of the stress in a step at which the map is done."""


def links_apart(between: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the links between any two cores, 0 without a path, from `between_cores`."""
    far = np.iinfo(np.int32).max
    lengths = np.where(between > 0, between, far).astype(np.int64)
    shorter = np.minimum(lengths, lengths.T)
    return np.where(shorter == far, 0, shorter)


def stress(points: Floats, targets: Floats) -> float:
    """Return the sum over all pairs of squared relative errors of their distance on the map."""
    pairs = np.triu_indices(len(points), 1)
    lengths = _lengths(points)[pairs]
    return float((((lengths - targets[pairs]) / targets[pairs]) ** 2).sum())


def core_map(links: NDArray[np.int64]) -> Floats:
    """Return the points of cores this many links apart, one row each, centred on the origin."""
    count = len(links)
    targets = np.where(links, links, links.max(initial=0) + 1).astype(float)
    turns = 2 * np.pi * np.arange(count) / count
    points: Floats = targets.mean() / 2 * np.column_stack((np.cos(turns), np.sin(turns)))
    np.fill_diagonal(targets, np.inf)  # weight 0
    laplacian = -(targets**-2)
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    inverse, energy = np.linalg.pinv(laplacian), stress(points, targets)
    for _ in range(_STEPS):
        lengths = _lengths(points)
        np.fill_diagonal(lengths, 1.0)
        pull = -1 / (targets * np.maximum(lengths, 1e-9))
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
        before, energy = energy, stress(points, targets)
        if before - energy <= _STILL * before:
            break
    return points


def _lengths(points: Floats) -> Floats:
    apart = points[:, None] - points
    lengths: Floats = np.hypot(apart[..., 0], apart[..., 1])
    return lengths
