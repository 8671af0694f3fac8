"""The rows that say which pages a crawl reads, until when and into which file."""

from minicrawl import plugins
from minicrawl.config import values as kinds
from minicrawl.config.setting import BUDGET, ORDER, SCOPE, STORE, TRAPS, Setting, differs

MOST_LINKS_AWAY = 200
"""Beyond 254 the crawl counts no links."""
DOCUMENTS = ("html", "pdf", "text", "markdown", "feed", "sitemap")
"""Types of documents, as `web.documents.kinds.WORDS` knows them."""
SCOPES = ("any", "domain", "host", "prefix")

BUDGET_ROWS = (
    Setting(
        BUDGET,
        "pages",
        "pages",
        kinds.optional(kinds.whole(1)),
        "Stop after N pages, those of earlier runs included; none for no limit.",
    ),
    Setting(
        BUDGET,
        "new_pages",
        "new-pages",
        kinds.optional(kinds.whole(1)),
        "Stop after N pages of this run, whatever earlier runs have fetched; none for no limit.",
    ),
    Setting(
        BUDGET,
        "seconds",
        "for",
        kinds.optional(kinds.TIME),
        "Stop after this time: seconds, or 30s, 90m, 1h30m, 2d; none for no limit.",
    ),
    Setting(
        BUDGET,
        "body_bytes",
        "bytes",
        kinds.optional(kinds.SIZE),
        "Stop when all bodies together are this large: bytes, or 500MB, 10GB, 1GiB; none for "
        "no limit.",
    ),
    Setting(
        BUDGET,
        "importance",
        "until",
        kinds.optional(kinds.PART),
        "Stop when the pages that were read hold about this share of all importance, such as 90% "
        "or 0.9. The importance of pages that are not known yet is estimated and counts as well; "
        "none for no limit.",
    ),
    Setting(
        BUDGET,
        "continuous",
        "continuous",
        kinds.SWITCH,
        "Keep crawling when all pages have been read, and read pages again that may have changed. "
        "Half of the fetches go to such pages; --refresh and --discovery set another share.",
        off="--no-continuous",
    ),
)

SCOPE_ROWS = (
    Setting(
        SCOPE,
        "scope",
        "scope",
        kinds.choice(*SCOPES),
        "Which pages may be fetched: any page, or only pages with the domain, the host or the path "
        "prefix of a seed. host and prefix compare ports, where the standard ports of http and "
        "https count as one; domain ignores ports.",
    ),
    Setting(
        SCOPE,
        "allow",
        "allow",
        kinds.several(kinds.PATTERN),
        "Fetch only URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
    ),
    Setting(
        SCOPE,
        "deny",
        "deny",
        kinds.several(kinds.PATTERN),
        "Never fetch URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
    ),
    Setting(
        SCOPE,
        "max_depth",
        "max-depth",
        kinds.optional(kinds.whole(0)),
        "Fetch no page that is more than N links away from the seeds; none for no limit.",
    ),
    Setting(
        SCOPE,
        "per_host_pages",
        "per-host-pages",
        kinds.optional(kinds.whole(1)),
        "Fetch at most N pages of each host; none for no limit.",
    ),
    Setting(
        SCOPE,
        "focus_only",
        "focus-only",
        kinds.optional(kinds.whole(0, MOST_LINKS_AWAY)),
        "Fetch only pages in focus, by any of the --focus options, and pages that are at most N "
        "links away from one of them or from a seed; none for no limit.",
    ),
    Setting(
        SCOPE,
        "sitemaps",
        "sitemaps",
        kinds.SWITCH,
        "Read the sitemaps that robots.txt lists.",
        off="--no-sitemaps",
    ),
    Setting(
        SCOPE,
        "types",
        "types",
        kinds.some_of(*DOCUMENTS),
        "Read documents of these types, such as html,pdf,feed. The body of any other document is "
        "not read. A seed that is a feed or a sitemap is always read. pdf needs minicrawl[pdf].",
    ),
)

TRAP_ROWS = (
    Setting(
        TRAPS,
        "barren_pages",
        "barren-pages",
        kinds.optional(kinds.whole(1)),
        "Set aside the rest of a group of similar pages after N of them had nothing new; none for "
        "no limit.",
    ),
    Setting(
        TRAPS,
        "same_pages",
        "same-pages",
        kinds.optional(kinds.whole(1)),
        "Ignore a parameter, an order of parameters or a host name in URLs after it made no "
        "difference to N pages; none for no limit.",
    ),
    Setting(
        TRAPS,
        "host_pages",
        "host-pages",
        kinds.optional(kinds.whole(1)),
        "Page quota of a host; hosts of seeds have no limit. A page counts as the number of new "
        "pages it links to, up to 10. Links from other hosts raise the quota. none for no limit.",
    ),
    Setting(
        TRAPS,
        "site_pages",
        "site-pages",
        kinds.optional(kinds.whole(1)),
        "Like --host-pages, for all hosts of a registrable domain or of a network of addresses. A "
        "host counts as 10 pages, and links from other sites raise the quota. All hosts at one "
        "address share one more quota of this size. none for no limit.",
    ),
)

# ================================================================ order
#
# The rows that say in which order pages are read, and what they are worth.

STRATEGIES = ("siblings", "greedy", "random", "breadth-first")
ORDERED_BY = ("page", "site")
REMOVED_STRATEGIES = {"cycle": "breadth-first"}
"""In a crawl both were the order of discovery."""
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
        "Weight of a link within a site, beside 1 of a link to another site.",
    ),
)


# ================================================================ store
#
# The rows that say what is stored, and what is done when a crawl ends.

KEEPS = ("pages", "text", "links", "none")

STORE_ROWS = (
    Setting(
        STORE,
        "store",
        "store",
        kinds.FILE,
        "The file that holds the crawl.",
        weakens=differs,
    ),
    Setting(
        STORE, "links", "links", kinds.SWITCH, "Store the links of the pages.", off="--no-links"
    ),
    Setting(
        STORE,
        "strip_marks",
        "strip-marks",
        kinds.SWITCH,
        "Remove session ids and campaign parameters from URLs. The original URL is stored as well.",
        off="--keep-marks",
    ),
    Setting(
        STORE,
        "converge",
        "converge",
        kinds.SWITCH,
        "Compute the converged importance of all known pages when the crawl ends, for at most a "
        "tenth of its time or 5 seconds, and also while it is idle.",
        off="--no-converge",
    ),
    Setting(
        STORE,
        "keep",
        "keep",
        kinds.choice(*KEEPS),
        "What to keep of each page that is read. In the folder FILE-pages beside the store, pages "
        "keeps the whole answer, and text only its text. In the store, links keeps how each link "
        "is written, with its text and rel. none keeps nothing, and is the default in a cluster.",
    ),
    Setting(
        STORE,
        "keep_versions",
        "keep-versions",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Which versions to keep of a page that is read again: all, the last N, or only those that "
        "have changed. A version that has not changed takes a few bytes. With N, older versions "
        "are removed once that frees a quarter of the archive.",
    ),
    Setting(
        STORE,
        "warc",
        "warc",
        kinds.optional(kinds.FOLDER),
        "Also write every answer to WARC files in this folder, a 404 as well. A new file begins at "
        "about 1 GB. none for no files.",
        weakens=differs,
    ),
    Setting(
        STORE,
        "check_external",
        "check-external",
        kinds.SWITCH,
        "When the crawl ends, check each link that leaves the scope or leads to a file: with HEAD, "
        "or with GET if HEAD is refused. What it leads to is not crawled, and --deny holds.",
        off="--no-check-external",
    ),
    Setting(
        STORE,
        "check_assets",
        "check-assets",
        kinds.SWITCH,
        "Do the same for images, styles, scripts and media of the pages that are kept (--keep "
        "pages), and check that the anchors exist that links name, such as /page#anchor.",
        off="--no-check-assets",
    ),
    Setting(
        STORE,
        "requisites",
        "requisites",
        kinds.SWITCH,
        "When the crawl ends, keep what the pages that are kept (--keep pages) need to be shown: "
        "images, styles, scripts, fonts and media, of any host that allows it, but for --deny.",
        off="--no-requisites",
    ),
)
