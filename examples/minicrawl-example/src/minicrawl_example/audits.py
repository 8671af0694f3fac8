"""Checks of an audit: rows, each with a function that finds pages by the site's columns."""

from collections.abc import Iterable

import numpy as np

from minicrawl.ext import Check, Detector


def checks() -> Iterable[Check]:
    """Return a check for pages far from a seed. It needs nothing but the store."""
    far = Detector(lambda site: np.asarray(site.depth) > 1, needs="")
    return [Check("far-from-home", "notice", "two links or more from a seed", far)]
