"""Settings that choose the pages: how many, in which order, within which scope, and no traps."""

from dataclasses import dataclass

from minicrawl import ext
from minicrawl.config.declaration import names_another_example, setting
from minicrawl.config.values import kinds
from minicrawl.config.values.stop_rules import UNTIL, Until

MOST_WEIGHT = 4
"""Maximum of --score-weight: with a larger weight, importance would have no effect."""
FILES = "files"
"""Name in --types for all linked files that are not documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a run; None for no limit."""

    pages: int | None = setting(
        None,
        kinds.optional(kinds.whole(1)),
        "Stop after N pages, including those of earlier runs; none for no limit.",
    )
    new_pages: int | None = setting(
        None,
        kinds.optional(kinds.whole(1)),
        "Stop after N pages in this run, not counting earlier runs; none for no limit.",
    )
    seconds: float | None = setting(
        None,
        kinds.optional(kinds.TIME),
        "Stop after this time: seconds, or 30s, 90m, 1h30m, 2d; none for no limit.",
        name="for",
    )
    body_bytes: int | None = setting(
        None,
        kinds.optional(kinds.SIZE),
        "Stop when the response bodies total this size: bytes, or 500MB, 10GB, 1GiB; none for no "
        "limit.",
        name="bytes",
    )
    until: Until | None = setting(
        None,
        kinds.optional(UNTIL),
        "Stop when the fetched pages hold about this share of all importance, such as 90% or 0.9, "
        "with that of undiscovered pages estimated; none for no limit. '60% guaranteed' stops when "
        "this share of PageRank with jumps to the seeds is proven.",
    )
    continuous: bool = setting(
        False,
        kinds.SWITCH,
        "Keep crawling after every page has been fetched, and revisit pages that may have "
        "changed. Half of the fetches are revisits; --refresh sets another share.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Order of fetching, and computation of importance."""

    strategy: str = setting(
        "siblings",
        kinds.choice(
            *["siblings", "greedy", "random", "breadth-first"],
            renamed={"cycle": "breadth-first"},
            group=ext.ORDERS,
        ),
        "Order of fetching: most cash first (greedy), greedy adjusted by what pages found "
        "together with a page have led to (siblings), first found first (breadth-first), or "
        "random. Revisits go by cash x probability of change (greedy, siblings) or in a fixed "
        "cycle (breadth-first).",
        stored=True,
    )
    order_by: str = setting(
        "page",
        kinds.choice("page", "site"),
        "Fetch the best page whose host is ready (page), or the best page of the ready site with "
        "the most cash from other sites (site). No effect while --concurrency has room for all "
        "hosts.",
    )
    refresh: float = setting(
        0.0,
        kinds.SHARE,
        "Share of fetches for revisits, from 0 to 1, within 15 % on hosts with new and old pages; "
        "new pages get the rest. Without --continuous, each page of an earlier run is "
        "revisited once.",
    )
    window: str = setting(
        "interpolation",
        kinds.WINDOW,
        "Window of a page's history that its importance is computed from. NAME:SIZE sets its size, "
        "in readings of the page (variable:16), in circulations of all cash (fixed:19) or in time "
        "(fixed:4w).",
        stored=True,
    )
    small_edge: float = setting(
        0.15,
        kinds.SMALL_EDGE,
        "Share of a page's cash that goes to all pages equally, from 0.01 to 0.99; its links get "
        "the rest. It can be changed on resume, and by `minicrawl control`.",
        stored=True,
    )
    endowment: int = setting(
        1000, kinds.whole(0, 1 << 30), "Units of cash shared by the seeds.", stored=True
    )
    score: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.SCORER),
        "Fetch pages first that are likely to be valuable: NAME (words, language, type, url, "
        "likeness or a scorer of a package) gives each fetched page a value from 0 to 1, which "
        "predicts that of pages near it. Repeatable: the largest value counts.",
        weakens=names_another_example,
        stored=True,
    )
    score_weight: float = setting(
        2.0,
        kinds.number(
            f"a number from 0 to {MOST_WEIGHT}", lambda weight: 0 <= weight <= MOST_WEIGHT, "WEIGHT"
        ),
        "Weight of the value against importance in --strategy siblings: the key is multiplied by "
        "the expected value to this power; 0 ignores it.",
        stored=True,
    )
    deterministic: bool = setting(
        False,
        kinds.SWITCH,
        "Send one request at a time, and let neither times of responses nor processor time affect "
        "the order: two crawls of an unchanged web fetch the same pages in the same order.",
        stored=True,
    )
    weight_internal: float | str = setting(
        1.0,
        kinds.WEIGHT,
        "Weight of a link within a site; a link to another site has weight 1. Or the name of a "
        "package's function that weighs the links of each page.",
        stored=True,
    )

    width: float = 8.0
    """Not a setting. Width of a window without a size; windows were measured with this one."""
    watch: tuple[tuple[str, float], ...] = ()
    """Not a setting. URLs or patterns of the only pages to read again, once so many seconds old."""
    replay: int = 0
    """Not a setting. Pages per fetch that spend their cash again along stored links: none, because
    converged ranks, computed beside the ledger, serve reports better.
    """

    @property
    def discovery(self) -> float:
        """Share of fetches for new pages."""
        return round(1 - self.refresh, 9)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Limits on the pages to fetch. Other pages are known and ranked only."""

    scope: str = setting(
        "any",
        kinds.choice("any", "domain", "host", "prefix", group=ext.FILTERS),
        "Fetch any page, or only pages in the domain, on the host or under the path prefix of a "
        "seed, or those that the filter of a package admits. host and prefix compare ports (the "
        "standard ports of http and https are equal); domain ignores them.",
        stored=True,
    )
    allow: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.PATTERN),
        "Fetch only URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
        stored=True,
    )
    deny: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.PATTERN),
        "Never fetch URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
        stored=True,
    )
    max_depth: int | None = setting(
        None,
        kinds.optional(kinds.whole(0)),
        "Fetch only pages at most N links from a seed; none for no limit.",
        stored=True,
    )
    per_host_pages: int | None = setting(
        None,
        kinds.optional(kinds.whole(1)),
        "Fetch at most N pages per host; none for no limit.",
        stored=True,
    )
    sitemaps: bool = setting(
        False, kinds.SWITCH, "Read the sitemaps listed in robots.txt.", stored=True
    )
    types: tuple[str, ...] = setting(
        ("html",),
        kinds.some_of("html", "pdf", "office", "text", "markdown", "feed", "sitemap", FILES),
        "Read these document types, such as html,pdf,feed, and with files keep any other linked "
        "file in scope after the crawl (--keep pages). Seeds that are feeds or sitemaps are always "
        "read; pdf needs minicrawl[pdf]; office is docx, pptx, odt, odp and epub.",
        stored=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits per page and per host."""

    max_tries: int | None = setting(
        None,
        kinds.optional(kinds.whole(1)),
        "Try a failing page at most N times. Without this, failures that often go away get up to "
        "five tries, and others fewer.",
    )

    max_sitemaps: int = 100
    """Not a setting. Sitemaps per host; each has up to 50,000 URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """Limits that detect crawler traps; None for no limit."""

    barren_pages: int | None = setting(
        20,
        kinds.optional(kinds.whole(1)),
        "Skip the rest of a group of similar pages after N of them had nothing new, and ignore a "
        "URL parameter, a parameter order or a host name after it made no difference on N / 2 "
        "pages; none for neither.",
        stored=True,
    )
    site_pages: int | None = setting(
        1000,
        kinds.optional(kinds.whole(1)),
        "Page quota of a host, of all hosts of its registrable domain or network, and of the hosts "
        "at one address, each raised by links from elsewhere; none for no limit. A page counts "
        "once for each new page it links to, up to 10, and a host as 10 pages of its domain; hosts "
        "of seeds have no quota.",
        stored=True,
    )

    # Not settings:
    max_segments: int = 32
    """Segments of a path. Folders made by people are not nested that deep."""
    max_repeats: int = 4
    """Repeats of a path segment, ignoring numbers: /a/b/a/b/a/b comes from links without a leading
    slash."""

    @property
    def same_pages(self) -> int | None:
        """Number of pages that must be the same before a difference of URLs is ignored.

        Equal content says more than content without news, so half as many are enough.
        """
        return None if self.barren_pages is None else max(self.barren_pages // 2, 1)
