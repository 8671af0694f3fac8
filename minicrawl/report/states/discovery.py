"""Discovery of pages: the page on which each page was found, and the seed that led to it.

Laws: a page that a page or a redirect names was found there. A page of a sitemap counts as found
on the first known page of its host, because that page made the crawl read the sitemap. A seed is
its own source, wherever else it was found.
"""

from array import array

import numpy as np

from minicrawl.opic.ledger.books import StepKind
from minicrawl.report.snapshot import Pages, Snapshot
from minicrawl.store import step_log

_ALL_STEPS = (1 << 63) - 1


def discovery(snapshot: Snapshot) -> tuple[Pages, Pages, Pages]:
    """Return, for each page, the page that names it first, and the seed from which it was found.

    Both are ids, -1 for none. The ids of all seeds follow, in their order.
    """
    ids = np.arange(len(snapshot))
    seeds = np.unique(np.array(step_log.seeds(snapshot.connection), dtype=np.int64))
    # Ids are in the order of discovery, so the new pages of a step have consecutive ids.
    counts, givers = array("q"), array("q")
    for block in step_log.log_after(snapshot.connection, 0, _ALL_STEPS):
        for _, kind, page, _, born, _ in block:
            if born:
                counts.append(born)
                givers.append(page if kind in (StepKind.VISIT, StepKind.FORWARD) else -1)
    logged = np.repeat(np.array(givers, dtype=np.int64), np.array(counts, dtype=np.int64))
    unlogged = np.full(max(len(snapshot) - len(logged), 0), -1)
    finders = np.concatenate((unlogged, logged))[: len(snapshot)]
    is_seed = np.isin(ids, seeds)
    _, first, of_host = np.unique(snapshot.host_of, return_index=True, return_inverse=True)
    parents = np.where(finders < 0, first[of_host], finders)
    # A page is found after its finder. Whatever claims otherwise is its own source, so that no
    # circle is followed.
    sources = np.where(is_seed | (parents >= ids), ids, parents)
    while not np.array_equal(further := sources[sources], sources):
        sources = further
    return finders, np.where(is_seed[sources], sources, -1), seeds
