"""The table of settings: what each is called, what it may be and what it does.

A setting has one name, `max-depth` say, and from it come its flag `--max-depth`, its variable
`MINICRAWL_MAX_DEPTH`, its key `max-depth` in a section of minicrawl.toml and its argument
`max_depth` in Python (`for_` where that is a word of Python's own).
"""

import keyword
from dataclasses import dataclass

from minicrawl.config import kinds, parts
from minicrawl.config.kinds import ValueKind

PREFIX = "MINICRAWL_"

STRATEGIES = ("greedy", "random", "breadth-first")
REMOVED_STRATEGIES = {"cycle": "breadth-first"}
"""In a crawl both were the order of discovery."""
WINDOWS = ("interpolation", "variable", "fixed", "improved-fixed", "static")
SCOPES = ("any", "domain", "host", "prefix")
MOST_ENDOWMENT = 1 << 30
MOST_WORKERS = 256


@dataclass(frozen=True, slots=True)
class Section:
    """A section of minicrawl.toml, and the part of the settings that it fills."""

    name: str
    part: str
    make: type


BUDGET = Section("budget", "budget", parts.Budget)
ORDER = Section("order", "order", parts.Order)
SCOPE = Section("scope", "scope", parts.Scope)
POLITENESS = Section("politeness", "politeness", parts.Politeness)
NETWORK = Section("network", "network", parts.Network)
LIMITS = Section("limits", "limits", parts.Limits)
TRAPS = Section("traps", "traps", parts.Traps)
STORE = Section("store", "storing", parts.Storing)

SECTIONS = {
    one.name: one for one in (BUDGET, ORDER, SCOPE, POLITENESS, NETWORK, LIMITS, TRAPS, STORE)
}


@dataclass(frozen=True, slots=True)
class Setting:
    """One row; `field` is where the value stands in its part."""

    section: Section
    field: str
    name: str
    kind: ValueKind
    help: str
    off: str = ""  # the flag that turns a switch off
    facet: str = ""  # for settings that share a flag: `--weight internal=0.5`
    is_table: bool = False  # a table of its own in minicrawl.toml, `[focus]`, not a key

    @property
    def flag(self) -> str:
        return f"--{self.name.removesuffix(self.facet).removesuffix('-')}"

    @property
    def variable(self) -> str:
        return PREFIX + self.name.replace("-", "_").upper()

    @property
    def key(self) -> str:
        return self.name if self.is_table else f"{self.section.name}.{self.name}"

    @property
    def argument(self) -> str:
        name = self.name.replace("-", "_")
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def default(self) -> object:
        return getattr(self.section.make(), self.field)


TABLE = (
    # ------------------------------------------------------------ when to stop
    Setting(BUDGET, "pages", "pages", kinds.optional(kinds.whole(1)), "Stop after so many pages."),
    Setting(
        BUDGET,
        "seconds",
        "for",
        kinds.optional(kinds.TIME),
        "Stop after this time: seconds, or 30s, 90m, 1h30m, 2d.",
    ),
    Setting(
        BUDGET,
        "body_bytes",
        "bytes",
        kinds.optional(kinds.SIZE),
        "Stop when bodies of this size were read: bytes, or 500MB, 10GB, 1GiB.",
    ),
    Setting(
        BUDGET,
        "continuous",
        "continuous",
        kinds.SWITCH,
        "Go on when all is read, and read again what may have changed; half of the fetches go to "
        "pages read before, unless --refresh or --discovery says otherwise.",
        off="--no-continuous",
    ),
    # ------------------------------------------------------------ which page comes next
    Setting(
        ORDER,
        "strategy",
        "strategy",
        kinds.choice(*STRATEGIES, renamed=REMOVED_STRATEGIES),
        "The order of reading; greedy reads the page that holds most cash.",
    ),
    Setting(
        ORDER,
        "discovery",
        "discovery",
        kinds.SHARE,
        "Share of the fetches for pages never read, from 0 to 1; the rest is for refresh.",
    ),
    Setting(
        ORDER,
        "refresh",
        "refresh",
        kinds.SHARE,
        "Share of the fetches for pages read before, from 0 to 1; the rest is for discovery.",
    ),
    Setting(
        ORDER,
        "window",
        "window",
        kinds.choice(*WINDOWS),
        "What of its past a page's importance is made of.",
    ),
    Setting(
        ORDER,
        "width",
        "width",
        kinds.POSITIVE,
        "Width of the window in turns of all the cash; in measures for variable.",
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
        "replay",
        "replay",
        kinds.whole(0),
        "Pages that spend their cash again along stored links, for each fetch.",
    ),
    Setting(
        ORDER,
        "focus",
        "focus",
        kinds.focuses(kinds.PATTERN),
        "Links whose URL the pattern is found in get STRENGTH (1) times their part once more; "
        "repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_type",
        "focus-type",
        kinds.focuses(kinds.MEDIA_TYPE),
        "The same for links to a media type; repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "focus_words",
        "focus-words",
        kinds.focuses(kinds.WORDS),
        "The same for links with these words in or near them; repeatable.",
        is_table=True,
    ),
    Setting(
        ORDER,
        "weight_internal",
        "weight-internal",
        kinds.WEIGHT,
        "what a link within its site weighs",
        facet="internal",
    ),
    Setting(
        ORDER,
        "weight_dynamic",
        "weight-dynamic",
        kinds.WEIGHT,
        "what the links of a page whose URL has a query weigh",
        facet="dynamic",
    ),
    # ------------------------------------------------------------ what may be fetched
    Setting(
        SCOPE,
        "scope",
        "scope",
        kinds.choice(*SCOPES),
        "What may be fetched: any page, or those that share domain, host or path (prefix) with a "
        "seed. For host and prefix the port counts, but the standard ports of http and https are "
        "one; for domain it does not.",
    ),
    Setting(
        SCOPE,
        "allow",
        "allow",
        kinds.several(kinds.PATTERN),
        "Fetch only what one of these is found in; repeatable; none for no pattern.",
    ),
    Setting(
        SCOPE,
        "deny",
        "deny",
        kinds.several(kinds.PATTERN),
        "Never fetch what one of these is found in; repeatable; none for no pattern.",
    ),
    Setting(
        SCOPE,
        "max_depth",
        "max-depth",
        kinds.optional(kinds.whole(0)),
        "Fetch nothing that is more links away from the seeds.",
    ),
    Setting(
        SCOPE,
        "per_host_pages",
        "per-host-pages",
        kinds.optional(kinds.whole(1)),
        "Fetch no more pages of one host.",
    ),
    Setting(
        SCOPE,
        "sitemaps",
        "sitemaps",
        kinds.SWITCH,
        "Read the sitemaps that robots.txt names.",
        off="--no-sitemaps",
    ),
    # ------------------------------------------------------------ how often, and as whom
    Setting(
        POLITENESS, "robots", "robots", kinds.SWITCH, "Obey robots.txt.", off="--ignore-robots"
    ),
    Setting(POLITENESS, "delay_s", "delay", kinds.WAIT, "Time between two requests to a host."),
    Setting(
        POLITENESS,
        "max_delay_s",
        "max-delay",
        kinds.WAIT,
        "The longest Crawl-delay of a robots.txt that is obeyed; longer ones count as this.",
    ),
    Setting(
        POLITENESS,
        "max_pause_s",
        "max-pause",
        kinds.TIME,
        "The longest pause that a host gets which fails or asks for one.",
    ),
    Setting(
        POLITENESS,
        "max_strikes",
        "max-strikes",
        kinds.whole(1),
        "Failures of a host, each success taking back half of them, after which its pages fail "
        "unasked for --max-pause.",
    ),
    Setting(
        POLITENESS, "concurrency", "concurrency", kinds.whole(1), "Requests under way at once."
    ),
    Setting(
        POLITENESS,
        "per_host",
        "per-host",
        kinds.whole(1),
        "Requests under way at once to one host.",
    ),
    Setting(
        POLITENESS,
        "per_address",
        "per-address",
        kinds.whole(1),
        "Requests under way at once to one address.",
    ),
    Setting(
        POLITENESS,
        "address_delay_s",
        "address-delay",
        kinds.WAIT,
        "Least pause between the starts of two requests to one address, whatever the names; 0 with "
        "--delay 0 for loopback addresses and targets of --resolve.",
    ),
    Setting(
        POLITENESS,
        "silent_share",
        "silent-share",
        kinds.SHARE,
        "Share of --concurrency that hosts which have not answered lately may hold.",
    ),
    Setting(
        POLITENESS,
        "agent",
        "agent",
        kinds.AGENT,
        "The crawler's name, for servers and for robots.txt.",
    ),
    Setting(
        POLITENESS,
        "contact",
        "contact",
        kinds.optional(kinds.CONTACT),
        "URL or mail address at which a server's owner finds you.",
    ),
    # ------------------------------------------------------------ how servers are reached
    Setting(NETWORK, "timeout_s", "timeout", kinds.TIME, "Time for a request as a whole."),
    Setting(
        NETWORK, "max_body_bytes", "max-body", kinds.SIZE, "Size at which a body is cut, in bytes."
    ),
    Setting(
        NETWORK,
        "max_bodies_bytes",
        "max-bodies",
        kinds.SIZE,
        "Size of all bodies that a process has under way at once, beyond which the largest is cut; "
        "not less than --max-body.",
    ),
    Setting(
        NETWORK,
        "max_head_bytes",
        "max-head",
        kinds.SIZE,
        "Size of the headers of an answer, beyond which it is a failure.",
    ),
    Setting(
        NETWORK,
        "max_codings",
        "max-codings",
        kinds.whole(0),
        "Codings of a body, one over another, that are undone; more are a failure.",
    ),
    Setting(
        NETWORK,
        "resolve",
        "resolve",
        kinds.several(kinds.RULE),
        "Connect to ADDRESS for HOST, each with a :PORT if need be; HOST may be * or *.example; "
        "repeatable.",
    ),
    Setting(
        NETWORK,
        "allow_private",
        "allow-private",
        kinds.optional(kinds.SWITCH),
        "Fetch from all addresses that are not public, or from none; else from seeds that are "
        "written as an address or localhost, each at its port, and from what --resolve names.",
        off="--no-allow-private",
    ),
    Setting(
        NETWORK,
        "workers",
        "workers",
        kinds.unless("auto", kinds.whole(0, MOST_WORKERS)),
        "Processes that fetch pages and read them; 0 is none besides the crawl's own, auto is one "
        "for each further core, 3 at most.",
    ),
    # ------------------------------------------------------------ how much is too much
    Setting(
        LIMITS, "max_links", "max-links", kinds.whole(1), "Links of a page that are read; no more."
    ),
    Setting(
        LIMITS,
        "max_redirects",
        "max-redirects",
        kinds.whole(0),
        "Redirects in a row that are followed.",
    ),
    Setting(
        LIMITS,
        "max_tries",
        "max-tries",
        kinds.whole(1),
        "Requests for a page that fails in passing; where more are hopeless there are fewer.",
    ),
    Setting(
        LIMITS,
        "max_sitemaps",
        "max-sitemaps",
        kinds.whole(1),
        "Sitemaps of a host that are read, with --sitemaps.",
    ),
    Setting(
        LIMITS,
        "max_robots_bytes",
        "max-robots",
        kinds.SIZE,
        "Size of a robots.txt that is read; what comes behind it is not obeyed.",
    ),
    Setting(
        LIMITS,
        "max_reading_s",
        "max-reading",
        kinds.TIME,
        "Time for reading one page that came, links and title; one that takes longer fails.",
    ),
    # ------------------------------------------------------------ where pages have no end
    Setting(
        TRAPS,
        "max_segments",
        "max-segments",
        kinds.optional(kinds.whole(1)),
        "Put aside pages whose path has more segments.",
    ),
    Setting(
        TRAPS,
        "max_repeats",
        "max-repeats",
        kinds.optional(kinds.whole(1)),
        "Put aside pages in whose path a segment is there more often; numbers do not count.",
    ),
    Setting(
        TRAPS,
        "barren_pages",
        "barren-pages",
        kinds.optional(kinds.whole(1)),
        "Put aside what is left of a group of pages when so many said nothing new.",
    ),
    Setting(
        TRAPS,
        "same_pages",
        "same-pages",
        kinds.optional(kinds.whole(1)),
        "Take a parameter, an order or a host for needless when so many pages were the same.",
    ),
    Setting(
        TRAPS,
        "host_pages",
        "host-pages",
        kinds.optional(kinds.whole(1)),
        "Pages of a host that no seed and no other host vouches for, each counted as the new ones "
        "it leads to, up to ten; links to it let it have more.",
    ),
    Setting(
        TRAPS,
        "site_pages",
        "site-pages",
        kinds.optional(kinds.whole(1)),
        "The same for all hosts of a registrable domain, or of a network of addresses; links from "
        "other sites count, and a host as much as ten pages. Hosts at one address share as many.",
    ),
    # ------------------------------------------------------------ what stays
    Setting(STORE, "store", "store", kinds.FILE, "The file that keeps the crawl."),
    Setting(
        STORE, "links", "links", kinds.SWITCH, "Store the links of the pages.", off="--no-links"
    ),
    Setting(
        STORE,
        "strip_marks",
        "strip-marks",
        kinds.SWITCH,
        "Session ids and what campaigns add to links are no part of a page's URL; what was written "
        "is kept beside it.",
        off="--keep-marks",
    ),
)

BY_NAME = {setting.name: setting for setting in TABLE}

_KEPT = """
    window width endowment focus focus-type focus-words weight-internal weight-dynamic
    robots delay max-delay address-delay agent contact
    links strip-marks
"""
KEPT = tuple(
    setting
    for setting in TABLE
    if setting.section in (SCOPE, TRAPS) or setting.name in _KEPT.split()
)
"""Settings that a store keeps: which pages a crawl reads, what they are worth, and what it promises
to servers. How far a run goes and what it may use of the machine is said for each run."""
