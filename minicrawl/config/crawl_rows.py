"""Rows of the table of settings: budget, scope, traps, order and store."""

from minicrawl import plugins
from minicrawl.config import values as kinds
from minicrawl.config.setting import BUDGET, ORDER, SCOPE, STORE, TRAPS, Setting, differs

MOST_LINKS_AWAY = 200
"""Link distances above 254 are not stored."""
DOCUMENTS = ("html", "pdf", "text", "markdown", "feed", "sitemap")
"""Types of documents, as in `web.documents.kinds.WORDS`."""
SCOPES = ("any", "domain", "host", "prefix")

BUDGET_ROWS = (
    Setting(
        BUDGET,
        "pages",
        "pages",
        kinds.optional(kinds.whole(1)),
        "Stop after N pages, including those of earlier runs; none for no limit.",
    ),
    Setting(
        BUDGET,
        "new_pages",
        "new-pages",
        kinds.optional(kinds.whole(1)),
        "Stop after N pages in this run, not counting earlier runs; none for no limit.",
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
        "Stop when the response bodies total this size: bytes, or 500MB, 10GB, 1GiB; none for no "
        "limit.",
    ),
    Setting(
        BUDGET,
        "importance",
        "until",
        kinds.optional(kinds.PART),
        "Stop when the fetched pages hold about this share of all importance, such as 90% or 0.9; "
        "none for no limit. The importance of undiscovered pages is estimated and counts too.",
    ),
    Setting(
        BUDGET,
        "continuous",
        "continuous",
        kinds.SWITCH,
        "Keep crawling after every page has been fetched, and revisit pages that may have "
        "changed. Half of the fetches are revisits; --refresh and --discovery set another share.",
        off="--no-continuous",
    ),
)

SCOPE_ROWS = (
    Setting(
        SCOPE,
        "scope",
        "scope",
        kinds.choice(*SCOPES),
        "Fetch any page, or only pages in the domain, on the host or under the path prefix of a "
        "seed. host and prefix compare ports (the standard ports of http and https are equal); "
        "domain ignores them.",
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
        "Fetch only pages at most N links from a seed; none for no limit.",
    ),
    Setting(
        SCOPE,
        "per_host_pages",
        "per-host-pages",
        kinds.optional(kinds.whole(1)),
        "Fetch at most N pages per host; none for no limit.",
    ),
    Setting(
        SCOPE,
        "focus_only",
        "focus-only",
        kinds.optional(kinds.whole(0, MOST_LINKS_AWAY)),
        "Fetch only pages that match a --focus option, and pages at most N links from one of them "
        "or from a seed; none for no limit.",
    ),
    Setting(
        SCOPE,
        "sitemaps",
        "sitemaps",
        kinds.SWITCH,
        "Read the sitemaps listed in robots.txt.",
        off="--no-sitemaps",
    ),
    Setting(
        SCOPE,
        "types",
        "types",
        kinds.some_of(*DOCUMENTS),
        "Read these document types, such as html,pdf,feed; other bodies are not downloaded. Seeds "
        "that are feeds or sitemaps are always read; pdf needs minicrawl[pdf].",
    ),
)

TRAP_ROWS = (
    Setting(
        TRAPS,
        "barren_pages",
        "barren-pages",
        kinds.optional(kinds.whole(1)),
        "Skip the rest of a group of similar pages after N of them had nothing new; none for no "
        "limit.",
    ),
    Setting(
        TRAPS,
        "same_pages",
        "same-pages",
        kinds.optional(kinds.whole(1)),
        "Ignore a URL parameter, a parameter order or a host name after it made no difference on "
        "N pages; none for no limit.",
    ),
    Setting(
        TRAPS,
        "host_pages",
        "host-pages",
        kinds.optional(kinds.whole(1)),
        "Page quota per host, raised by links from other hosts; none for no limit. A page counts "
        "once for each new page it links to, up to 10; hosts of seeds have no quota.",
    ),
    Setting(
        TRAPS,
        "site_pages",
        "site-pages",
        kinds.optional(kinds.whole(1)),
        "Like --host-pages, for all hosts of a registrable domain or network, raised by links "
        "from other sites; none for no limit. A host counts as 10 pages, and the hosts at one "
        "address share another quota of this size.",
    ),
)

# ================================================================ order
#
# Order of fetching, and value of pages.

STRATEGIES = ("siblings", "greedy", "random", "breadth-first")
ORDERED_BY = ("page", "site")
REMOVED_STRATEGIES = {"cycle": "breadth-first"}
"""In a crawl, both meant the order of discovery."""
WINDOWS = ("interpolation", "variable", "fixed", "improved-fixed", "adaptive", "static")
MOST_ENDOWMENT = 1 << 30

ORDER_ROWS = (
    Setting(
        ORDER,
        "strategy",
        "strategy",
        kinds.choice(*STRATEGIES, renamed=REMOVED_STRATEGIES),
        "Order of fetching: most cash first (greedy), greedy adjusted by what pages found "
        "together with a page have led to (siblings), first found first (breadth-first), or "
        "random. Revisits go by cash x probability of change (greedy, siblings) or in a fixed "
        "cycle (breadth-first); a cluster uses greedy and does not support siblings.",
    ),
    Setting(
        ORDER,
        "order_by",
        "order-by",
        kinds.choice(*ORDERED_BY),
        "Fetch the best page whose host is ready (page), or the best page of the ready site with "
        "the most cash from other sites (site). No effect while --concurrency has room for all "
        "hosts.",
    ),
    Setting(
        ORDER,
        "discovery",
        "discovery",
        kinds.SHARE,
        "Share of fetches for new pages, from 0 to 1; --refresh gets the rest.",
    ),
    Setting(
        ORDER,
        "refresh",
        "refresh",
        kinds.SHARE,
        "Share of fetches for revisits, from 0 to 1, within 15 % on hosts with new and old pages; "
        "--discovery gets the rest. Without --continuous, each page of an earlier run is "
        "revisited once.",
    ),
    Setting(
        ORDER,
        "window",
        "window",
        kinds.choice(*WINDOWS, group=plugins.WINDOWS),
        "Window of a page's history that its importance is computed from.",
    ),
    Setting(
        ORDER,
        "small_edge",
        "small-edge",
        kinds.SMALL_EDGE,
        "Share of a page's cash that goes to all pages equally, from 0.01 to 0.99; its links get "
        "the rest. It can be changed on resume, and by `minicrawl control`.",
    ),
    Setting(
        ORDER,
        "endowment",
        "endowment",
        kinds.whole(0, MOST_ENDOWMENT),
        "Units of cash shared by the seeds.",
    ),
    Setting(
        ORDER,
        "focus",
        "focus",
        kinds.focuses(kinds.PATTERN),
        "Give links whose URL matches REGEX extra cash: STRENGTH times their share, 1 if omitted. "
        "The virtual page pays, and borrows at most half a unit per unread page; repeatable.",
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
        "Like --focus, once for each of these words in a link or within 50 characters of it. "
        "Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_similar",
        "focus-similar",
        kinds.focuses(kinds.WORDS),
        "Like --focus, multiplied by the similarity between these words and the text in and "
        "around the link, from 0 (no common word) to 1 (identical). Repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "weight_internal",
        "weight-internal",
        kinds.WEIGHT,
        "Weight of a link within a site; a link to another site has weight 1.",
    ),
)


# ================================================================ store
#
# Stored data, and tasks at the end of a crawl.

KEEPS = ("pages", "text", "links", "none")

STORE_ROWS = (
    Setting(
        STORE,
        "store",
        "store",
        kinds.FILE,
        "SQLite file that holds the crawl.",
        weakens=differs,
    ),
    Setting(
        STORE, "links", "links", kinds.SWITCH, "Store the links between pages.", off="--no-links"
    ),
    Setting(
        STORE,
        "strip_marks",
        "strip-marks",
        kinds.SWITCH,
        "Remove session IDs and campaign parameters from URLs. The original URL is stored too.",
        off="--keep-marks",
    ),
    Setting(
        STORE,
        "converge",
        "converge",
        kinds.SWITCH,
        "Compute converged importance for all known pages when the crawl ends, for at most a "
        "tenth of its time or 5 seconds, and while it is idle.",
        off="--no-converge",
    ),
    Setting(
        STORE,
        "keep",
        "keep",
        kinds.choice(*KEEPS),
        "Keep whole responses (pages) or only text (text) in FILE-pages beside the store, the "
        "text, rel and href of each link in the store (links), or nothing (none). In a cluster, "
        "the default is none.",
    ),
    Setting(
        STORE,
        "keep_versions",
        "keep-versions",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Versions to keep of a page that is fetched again: all, the last N, or only changed ones. "
        "With N, older versions are removed once that frees a quarter of the archive; an "
        "unchanged version takes a few bytes.",
    ),
    Setting(
        STORE,
        "warc",
        "warc",
        kinds.optional(kinds.FOLDER),
        "Also write every response, including a 404, to WARC files of about 1 GB in this folder; "
        "none for no files.",
        weakens=differs,
    ),
    Setting(
        STORE,
        "check_external",
        "check-external",
        kinds.SWITCH,
        "After the crawl, check links that leave the scope or lead to files, with HEAD, or GET if "
        "HEAD is refused. Targets are not crawled, and --deny applies.",
        off="--no-check-external",
    ),
    Setting(
        STORE,
        "check_assets",
        "check-assets",
        kinds.SWITCH,
        "After the crawl, check the images, styles, scripts and media of kept pages (--keep "
        "pages), and that the anchors in links such as /page#anchor exist.",
        off="--no-check-assets",
    ),
    Setting(
        STORE,
        "requisites",
        "requisites",
        kinds.SWITCH,
        "After the crawl, keep the images, styles, scripts, fonts and media of kept pages (--keep "
        "pages), from any host that allows it. --deny applies.",
        off="--no-requisites",
    ),
)
