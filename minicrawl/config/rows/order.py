"""The rows that say in which order pages are read, and what they are worth."""

from minicrawl import plugins
from minicrawl.config.setting import ORDER, Setting
from minicrawl.config.values import kinds

STRATEGIES = ("siblings", "greedy", "random", "breadth-first")
ORDERED_BY = ("page", "site")
REMOVED_STRATEGIES = {"cycle": "breadth-first"}
"""In a crawl both were the order of discovery."""
NEWBORN = ("unit", "host-mean")
WINDOWS = ("interpolation", "variable", "fixed", "improved-fixed", "adaptive", "static")
MOST_ENDOWMENT = 1 << 30

ORDER_ROWS = (
    Setting(
        ORDER,
        "strategy",
        "strategy",
        kinds.choice(*STRATEGIES, renamed=REMOVED_STRATEGIES),
        "The order in which pages are read. greedy reads the page with the most cash first; "
        "siblings also asks what pages that were found together with it have led to. Both read "
        "pages again by cash times the probability of change. random takes any page, and "
        "breadth-first the one found first; again, the one not read for longest: a fixed cycle. A "
        "cluster goes by greedy, and cannot have siblings.",
    ),
    Setting(
        ORDER,
        "order_by",
        "order-by",
        kinds.choice(*ORDERED_BY),
        "page reads the best page whose host may be asked now. site reads the best page of the "
        "most important site that may be asked; a site's importance is the cash that other sites "
        "gave to it. It has no effect while --concurrency has room for all hosts at once.",
    ),
    Setting(
        ORDER,
        "discovery",
        "discovery",
        kinds.SHARE,
        "Share of the fetches for pages that were never read, from 0 to 1. --refresh gets the "
        "rest.",
    ),
    Setting(
        ORDER,
        "refresh",
        "refresh",
        kinds.SHARE,
        "Share of the fetches for pages that were read before, from 0 to 1. --discovery gets the "
        "rest. A host with pages of both kinds keeps to the share as well, give or take 15 %. "
        "Without --continuous these are pages that an earlier run has read, once each.",
    ),
    Setting(
        ORDER,
        "window",
        "window",
        kinds.choice(*WINDOWS, group=plugins.WINDOWS),
        "The part of a page's past that its importance is computed from.",
    ),
    Setting(
        ORDER,
        "width",
        "width",
        kinds.POSITIVE,
        "Width of the window: how many times all the cash changes hands. For the variable window, "
        "how many readings.",
    ),
    Setting(
        ORDER,
        "measures",
        "measures",
        kinds.optional(kinds.whole(2)),
        "Keep at most N measures of a page in a variable or fixed window. If there are more, "
        "neighbours are merged. none for no limit.",
    ),
    Setting(
        ORDER,
        "small_edge",
        "small-edge",
        kinds.SMALL_EDGE,
        "Share of a page's cash that goes to all pages alike, from 0.01 to 0.99; its links get the "
        "rest. May change when a crawl is resumed, and by control while it runs.",
    ),
    Setting(
        ORDER,
        "endowment",
        "endowment",
        kinds.whole(0, MOST_ENDOWMENT),
        "Units of cash that the seeds share.",
    ),
    Setting(
        ORDER,
        "newborn",
        "newborn",
        kinds.choice(*NEWBORN),
        "The cash that a page is born with. unit: one unit. host-mean: 0.25 to 4 units, in "
        "proportion to what pages of its host held when they were read.",
    ),
    Setting(
        ORDER,
        "replay",
        "replay",
        kinds.whole(0),
        "For each fetch, let N pages spend their cash again along their stored links.",
    ),
    Setting(
        ORDER,
        "focus",
        "focus",
        kinds.focuses(kinds.PATTERN),
        "Give extra cash to links whose URL matches REGEX: STRENGTH times their share, 1 if it is "
        "left out. The virtual page pays, and borrows half a unit of each unread page at most. "
        "Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_type",
        "focus-type",
        kinds.focuses(kinds.MEDIA_TYPE),
        "Like --focus, for links to a media type. Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_words",
        "focus-words",
        kinds.focuses(kinds.WORDS),
        "Like --focus, once for each of these words in a link or in the 50 characters around it. "
        "Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_similar",
        "focus-similar",
        kinds.focuses(kinds.WORDS),
        "Like --focus, multiplied by the similarity between these words and those in and "
        "around the link: from 0 (none in common) to 1 (the same). Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "weight_internal",
        "weight-internal",
        kinds.WEIGHT,
        "weight of a link within a site",
        facet="internal",
    ),
    Setting(
        ORDER,
        "weight_dynamic",
        "weight-dynamic",
        kinds.WEIGHT,
        "weight of a link on a page whose URL has a query",
        facet="dynamic",
    ),
    Setting(
        ORDER,
        "weight_emphasis",
        "weight-emphasis",
        kinds.WEIGHT,
        "weight of a link in bold or in a heading",
        facet="emphasis",
    ),
)
