"""The rows that say which pages a crawl reads, until when and into which file."""

from minicrawl.config.setting import BUDGET, SCOPE, TRAPS, Setting
from minicrawl.config.values import kinds

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
        "max_segments",
        "max-segments",
        kinds.optional(kinds.whole(1)),
        "Set aside pages whose path has more than N segments; none for no limit.",
    ),
    Setting(
        TRAPS,
        "max_repeats",
        "max-repeats",
        kinds.optional(kinds.whole(1)),
        "Set aside pages whose path has the same segment more than N times. Numbers do not "
        "count. none for no limit.",
    ),
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
