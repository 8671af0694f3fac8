"""Checks of an audit: rows with a function of the site's columns that finds the pages."""

from collections.abc import Iterable

import numpy as np

from minicrawl.ext import Check, Detector


def checks() -> Iterable[Check]:
    """Return a check for pages that were found late, which needs nothing but the store."""
    late = Detector(lambda site: np.asarray(site.depth) > 1, needs="")
    return [Check("far-from-home", "notice", "two links or more from a seed", late)]
