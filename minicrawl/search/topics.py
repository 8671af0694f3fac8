"""Ranks of topics, mixed for each query by the likelihood of its words in the topics' pages.

Laws: the words of a topic are those of its indexed pages; title, headings, text and anchors count
equally. A topic without a query word is not excluded; if no topic has one, all have equal parts.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.report.saved_ranks import kept_scores
from minicrawl.report.snapshot import Snapshot
from minicrawl.search.importance_file import Floats
from minicrawl.search.index import SearchIndex
from minicrawl.search.words.query import Query
from minicrawl.store.derived.ranks import kept_topics
from minicrawl.web.words import parts_by_counts, words_of

USUAL_FAMILY = "pagerank"
_MOST_PAGES = 200
_LONGEST = 5_000
"""Maximum characters of a text to count."""


class TopicMixture:
    """Ranks of some topics, mixed by query."""

    def __init__(self, view: Snapshot, index: SearchIndex, family: str = "") -> None:
        """Load the topics of this family; by default the usual one, or the only one."""
        known = kept_topics(view.path, view.connection)
        if not family:
            family = USUAL_FAMILY if USUAL_FAMILY in known or len(known) != 1 else next(iter(known))
        if family not in known:
            choices = f"only {', '.join(known)}" if known else "and no others"
            raise UsageError(
                f"{view.path} has no ranks of topics called {family}, {choices}: "
                "make them with `minicrawl rank pagerank --topics FILE`"
            )
        topics = known[family]
        scores_by_topic = {topic: kept_scores(view, f"{family}-{topic}") for topic in topics}
        if missing := [topic for topic, scores in scores_by_topic.items() if scores is None]:
            raise UsageError(
                f"{view.path} has no rank {family}-{missing[0]} any more: "
                "make it again with `minicrawl rank pagerank --topics`"
            )
        ranks = [scores for scores in scores_by_topic.values() if scores is not None]
        self._ranks = np.stack(ranks).astype(np.float32)
        self._counts = {topic: _words(index, pages) for topic, pages in topics.items()}

    def parts(self, query: Query) -> dict[str, float]:
        """Return the part of each topic for this query; they sum to 1."""
        return parts_by_counts(self._counts, query.sought)

    def scores(self, query: Query) -> Floats:
        """Return the mixed rank of all pages."""
        parts = np.array(list(self.parts(query).values()), np.float32)
        return parts @ self._ranks


def _words(index: SearchIndex, pages: Iterable[int]) -> Counter[str]:
    """Return the frequency of each word in the first `_MOST_PAGES` of these pages."""
    counts: Counter[str] = Counter()
    for page in list(pages)[:_MOST_PAGES]:
        if entry := index.entry(page):
            texts = entry.own_title, *entry.headings, entry.body[:_LONGEST], *entry.anchors
            counts.update(chain.from_iterable(map(words_of, texts)))
    return counts
