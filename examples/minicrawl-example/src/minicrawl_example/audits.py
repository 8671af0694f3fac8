"""Checks of an audit: rows, each with a function that finds pages by the site's columns."""

from collections.abc import Iterable

import numpy as np

from minicrawl.ext import AuditedSite, Check, Detector


def checks() -> Iterable[Check]:
    """Return a check by a column, which needs nothing but the store, and one by markup."""
    far = Detector(lambda site: np.asarray(site.depth) > 1, needs="")
    return [
        Check("far-from-home", "notice", "two links or more from a seed", far),
        Check("filler", "error", "text of a template was left: write the text", Detector(filler)),
    ]


def filler(site: AuditedSite) -> np.ndarray:
    """Return a mask of the pages that still have "lorem ipsum"."""
    mask, pages = np.zeros(len(site), np.bool_), np.flatnonzero(site.html)
    mask[pages] = ["lorem ipsum" in markup.lower() for markup in site.markups(pages)]
    return mask
