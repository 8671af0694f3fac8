"""Parts of the settings: each setting is a field with its default, its kind and its help.

To add a setting, add a field here and use it in the code:

    delay_s: float | str = setting(
        1.0, either("auto", WAIT), "Time between two requests to a host.", name="delay"
    )

in the part `Politeness` declares the flag `--delay TIME|auto`, the variable `MINICRAWL_DELAY`, the
key `delay` in `[politeness]` of minicrawl.toml, the argument `delay` in Python (`for_` where the
name is a keyword of Python), the help, and an entry of the reference. The name of the field is the
name of the setting, unless `name` says another one: fields have units, names have none. A field
that is not declared by `setting` is a limit in the code that only tests change.

Law: a setting that touches this machine or can weaken a promise has a rule in `weakens`. A value
from a stranger, such as a store, is used only if it weakens nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from minicrawl import ext
from minicrawl.config.declaration import (
    allows_more,
    differs,
    is_higher,
    is_lower,
    names_another_example,
    reads_another_file,
    setting,
    starts_with_another_file,
)
from minicrawl.config.host_settings import HOST_SETTING, politeness_of
from minicrawl.config.values import access, kinds, networks, pace
from minicrawl.config.values.kinds import AUTO, ENVIRONMENT, OFF, ON
from minicrawl.web.robots.usage import PURPOSES

FIRST_DELAY_S = 1.0
"""Delay of --delay auto before a host has responded."""
DEMO_STORE = Path("data/demo.db")
DEMO_USUAL = {"delay": 0, "endowment": 100}
"""Settings of a demo crawl: the server is local and needs no delay."""
MOST_WEIGHT = 4
"""Maximum of --score-weight: with a larger weight, importance would have no effect."""
FILES = "files"
"""Name in --types for all linked files that are not documents."""
DEMO_PAGES, FEWEST_DEMO_PAGES = 2000, 100
"""Default and minimum size of the demo web, in pages; its odd hosts dominate smaller ones."""


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
    importance: float | str | None = setting(
        None,
        kinds.optional(kinds.PART),
        "Stop when the fetched pages hold about this share of all importance, such as 90% or 0.9, "
        "with that of undiscovered pages estimated; none for no limit. '60% guaranteed' stops when "
        "this share of PageRank with jumps to the seeds is proven.",
        name="until",
    )
    continuous: bool = setting(
        False,
        kinds.SWITCH,
        "Keep crawling after every page has been fetched, and revisit pages that may have "
        "changed. Half of the fetches are revisits; --refresh sets another share.",
    )

    @property
    def guaranteed(self) -> float | None:
        """Share of importance that must be guaranteed before the crawl stops, or None."""
        return kinds.guaranteed_part(self.importance)


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
        kept=True,
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
        kept=True,
    )
    small_edge: float = setting(
        0.15,
        kinds.SMALL_EDGE,
        "Share of a page's cash that goes to all pages equally, from 0.01 to 0.99; its links get "
        "the rest. It can be changed on resume, and by `minicrawl control`.",
        kept=True,
    )
    endowment: int = setting(
        1000, kinds.whole(0, 1 << 30), "Units of cash shared by the seeds.", kept=True
    )
    score: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.SCORER),
        "Fetch pages first that are likely to be valuable: NAME (words, language, type, url, "
        "likeness or a scorer of a package) gives each fetched page a value from 0 to 1, which "
        "predicts that of pages near it. Repeatable: the largest value counts.",
        weakens=names_another_example,
        kept=True,
    )
    score_weight: float = setting(
        2.0,
        kinds.number(
            f"a number from 0 to {MOST_WEIGHT}", lambda weight: 0 <= weight <= MOST_WEIGHT, "WEIGHT"
        ),
        "Weight of the value against importance in --strategy siblings: the key is multiplied by "
        "the expected value to this power; 0 ignores it.",
        kept=True,
    )
    deterministic: bool = setting(
        False,
        kinds.SWITCH,
        "Send one request at a time, and let neither times of responses nor processor time affect "
        "the order: two crawls of an unchanged web fetch the same pages in the same order.",
        kept=True,
    )
    weight_internal: float | str = setting(
        1.0,
        kinds.WEIGHT,
        "Weight of a link within a site; a link to another site has weight 1. Or the name of a "
        "package's function that weighs the links of each page.",
        kept=True,
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
        kept=True,
    )
    allow: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.PATTERN),
        "Fetch only URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
        kept=True,
    )
    deny: tuple[str, ...] = setting(
        (),
        kinds.several(kinds.PATTERN),
        "Never fetch URLs that match REGEX. Repeatable: one match is enough; none for no pattern.",
        kept=True,
    )
    max_depth: int | None = setting(
        None,
        kinds.optional(kinds.whole(0)),
        "Fetch only pages at most N links from a seed; none for no limit.",
        kept=True,
    )
    per_host_pages: int | None = setting(
        None,
        kinds.optional(kinds.whole(1)),
        "Fetch at most N pages per host; none for no limit.",
        kept=True,
    )
    sitemaps: bool = setting(
        False, kinds.SWITCH, "Read the sitemaps listed in robots.txt.", kept=True
    )
    types: tuple[str, ...] = setting(
        ("html",),
        kinds.some_of("html", "pdf", "office", "text", "markdown", "feed", "sitemap", FILES),
        "Read these document types, such as html,pdf,feed, and with files keep any other linked "
        "file in scope after the crawl (--keep pages). Seeds that are feeds or sitemaps are always "
        "read; pdf needs minicrawl[pdf]; office is docx, pptx, odt, odp and epub.",
        kept=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """Request rate and identity of the crawler."""

    robots: bool = setting(
        True, kinds.SWITCH, "Obey robots.txt.", off="--ignore-robots", weakens=is_lower, kept=True
    )
    obey_usage: str | None = setting(
        None,
        kinds.optional(kinds.choice(*PURPOSES)),
        "Do not fetch pages whose site denies this use, in robots.txt, in tdmrep.json or in RSL; "
        "none ignores denials. Denials in a page itself are kept with it.",
        kept=True,
    )
    delay_s: float | str = setting(
        1.0,
        kinds.either(AUTO, kinds.WAIT),
        "Time between two requests to a host. auto waits 5 times the host's response time, from "
        "0.5 to 60 seconds; at loopback addresses, from 0.",
        name="delay",
        weakens=is_lower,
        kept=True,
    )
    concurrency: int = setting(64, kinds.whole(1), "Maximum number of requests in flight.")
    per_host: int = setting(
        1, kinds.whole(1), "Maximum number of requests in flight per host.", weakens=is_higher
    )
    per_address: int = setting(
        8, kinds.whole(1), "Maximum number of requests in flight per IP address.", weakens=is_higher
    )
    address_delay_s: float = setting(
        0.1,
        kinds.WAIT,
        "Time between the starts of two requests to one IP address, across host names. With "
        "--delay 0 or auto, it is 0 for loopback addresses and --resolve targets.",
        name="address-delay",
        weakens=is_lower,
        kept=True,
    )
    max_rate: str | None = setting(
        None,
        kinds.optional(pace.RATE),
        "Limit of the whole crawl: requests per second such as 10 or 0.5, bytes per second such "
        "as 500kB, or both: 10,500kB; none for no limit.",
    )
    hours: str | None = setting(
        None,
        kinds.optional(pace.HOURS),
        "Send requests only in these hours of local time, such as 22-6 or 22:30-6:15; none for "
        "all day.",
    )
    agent: str = setting(
        "minicrawl",
        kinds.AGENT,
        "Crawler name, sent to servers and matched against robots.txt.",
        kept=True,
    )
    contact: str | None = setting(
        None,
        kinds.optional(kinds.CONTACT),
        "URL or mail address where server owners can reach you; none for no contact.",
        kept=True,
    )

    host_settings: tuple[str, ...] = setting(
        (),
        kinds.several(HOST_SETTING),
        "Use another value for this host, or for all hosts below *.NAME, of delay, per-host, "
        "max-rate, hours, agent, robots (with permission), render or proxy: slow.example.org:"
        'delay=10. Repeatable; none for no host. In a file, [hosts."slow.example.org"] has '
        "them, with header, auth, bearer and client-cert.",
        name="host-setting",
        kept=True,
    )

    # Not settings:
    delay_factor: float = 5.0
    """Delay of --delay auto as a multiple of the response time: at most a sixth of a host's load is
    ours."""
    min_delay_s: float = 0.5
    """Minimum delay of --delay auto: a fast host may have many other visitors."""
    max_delay_s: float = 60.0
    """Maximum of --delay auto and of an obeyed Crawl-delay; with more, a host of 1,000 pages would
    take days."""
    max_pause_s: float = 3600.0
    """Maximum pause of a failing host, or of one that asks for a pause; also the time that a host
    stays down, so that a crawl of a day retries it two dozen times."""
    max_strikes: int = 6
    """Failures that put a host down. Each success halves the count."""
    silent_share: float = 0.5
    """Maximum share of connections for hosts that have not responded recently."""

    def of_host(self, name: str) -> "Politeness":
        return politeness_of(self, name) if self.host_settings else self

    def delay_after(self, answer_s: float | None, *, is_local: bool = False) -> float:
        """Return the delay for a host with this response time (None before the first response).

        A host on this machine, `is_local`, has no minimum: the user knows its other visitors.
        """
        delay_s = self.delay_s
        if not isinstance(delay_s, str):
            return delay_s
        wanted_s = FIRST_DELAY_S if answer_s is None else self.delay_factor * answer_s
        return min(max(wanted_s, 0.0 if is_local else self.min_delay_s), self.max_delay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Connections to servers."""

    timeout_s: float = setting(30.0, kinds.TIME, "Time limit of a whole request.", name="timeout")
    max_body_bytes: int = setting(
        10_000_000,
        kinds.SIZE,
        "Truncate a response body at this size.",
        name="max-body",
        weakens=is_higher,
    )
    max_file_bytes: int = setting(
        100_000_000,
        kinds.SIZE,
        "Truncate a linked file (--types files) or a page requisite at this size. It has more time "
        "than --timeout, in proportion to --max-body.",
        name="max-file",
        weakens=is_higher,
    )
    raw_bodies: bool = setting(
        False,
        kinds.SWITCH,
        "Also keep each byte of each response as the server sent it, bodies of redirects included, "
        "and write these to WARC and WACZ files. By default, archived bodies are decoded: chunks "
        "and content codings such as gzip are removed.",
        kept=True,
    )
    resolve: tuple[str, ...] = setting(
        (),
        kinds.several(networks.RULE),
        "Connect to ADDRESS instead of HOST, each with an optional :PORT; HOST may be * or "
        "*.example. Repeatable; none for no rule.",
        weakens=differs,
    )
    name_server: tuple[str, ...] = setting(
        (),
        kinds.several(networks.NAME_SERVER),
        "Look hosts up at this name server, ADDRESS[:PORT], and cache addresses for their TTL; "
        "system uses the system's resolver and caches for 5 minutes. Repeatable; none for the "
        "name servers of this system.",
        weakens=differs,
    )
    notify: str | None = setting(
        None,
        kinds.optional(networks.HOOK),
        "Post what changed, what is broken and how the run ended, as JSON to this URL after each "
        "run, signed by the secret in MINICRAWL_NOTIFY_SECRET (X-Hub-Signature-256); none for no "
        "post.",
        weakens=differs,
    )
    allow_private: bool | None = setting(
        None,
        kinds.optional(kinds.SWITCH),
        "Fetch from all non-public addresses, or from none. By default, only from seeds given as "
        "an address or localhost, at their port, and from --resolve targets.",
        weakens=allows_more,
    )
    workers: int | str = setting(
        "auto",
        kinds.either("auto", kinds.whole(0, 256)),
        "Processes that fetch and parse pages, besides the main process; 0 for none. auto uses "
        "one per additional core, up to 3, and none for the shards of a cluster.",
        weakens=is_higher,
    )
    proxy: tuple[str, ...] = setting(
        (ENVIRONMENT,),
        kinds.several(networks.PROXY),
        "Proxy URL (http, https, socks5 or socks5h), with a login if needed; http=URL and "
        "https=URL are for one scheme, @FILE lists proxies, environment uses HTTP_PROXY, "
        "HTTPS_PROXY and ALL_PROXY. Each host keeps to one proxy, and hosts in NO_PROXY use none; "
        "repeatable, none for no proxy.",
        weakens=differs,
    )
    ca: Path | None = setting(
        None,
        kinds.optional(kinds.FILE),
        "Also trust the certificate authorities in this PEM file; none for no file.",
        weakens=differs,
    )
    client_cert: tuple[str, ...] = setting(
        (),
        kinds.several(networks.FILE_OF_A_HOST),
        "Present this client certificate (PEM, with its key) to servers that ask for one: all, "
        "one host, or all below *.NAME. Repeatable; none for no certificate.",
        weakens=differs,
    )
    insecure: tuple[str, ...] = setting(
        (),
        kinds.several(networks.HOST),
        "Skip certificate checks for this host, or for all hosts below *.NAME; servers of a "
        "--cluster there may do without TLS and credentials. Repeatable; none for no host.",
        weakens=differs,
    )
    bind_address: tuple[str, ...] = setting(
        (),
        kinds.several(networks.ADDRESS),
        "Connect from this local address, only to servers of its address family. Repeatable; none "
        "for any address.",
        weakens=differs,
    )

    # Not settings:
    max_head_bytes: int = 64 * 1024
    """Limit of a response head: eight times what servers usually accept of a request head."""
    max_codings: int = 3
    """Nested content codings. Servers use one, rarely two; each multiplies the size of a bomb."""
    host_settings: tuple[str, ...] = ()
    """Settings of hosts, among them their proxies."""
    no_proxy: tuple[str, ...] = (ENVIRONMENT,)
    """Hosts contacted without a proxy; by default those in NO_PROXY."""

    @property
    def max_bodies_bytes(self) -> int:
        """Limit of all bodies in flight in a process: one of maximum size and many usual ones."""
        return max(15_000_000, self.max_body_bytes * 3 // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Headers, logins, cookies and signatures. `repr` hides possible secrets."""

    headers: tuple[str, ...] = setting(
        (),
        kinds.several(access.HEADER_LINE),
        "Send this header with every request; 'HOST=Name: value' sends it to one host only. "
        "Repeatable; none for no header.",
        name="header",
    )
    user_agent: str | None = setting(
        None,
        kinds.optional(kinds.text("TEXT", "text of printable ASCII characters", r"[!-~][ -~]*")),
        "Complete User-Agent header; none builds it from --agent and --contact. robots.txt is "
        "still matched against --agent.",
        kept=True,
    )
    languages: str | None = setting(
        None,
        kinds.optional(access.LANGUAGES),
        "Accept-Language, preferred language first, such as de,en; none for no preference.",
        kept=True,
    )
    auth: tuple[str, ...] = setting(
        (),
        kinds.several(access.login("USER:PASS", access.USER_PASSWORD)),
        "Log in to HOST by basic or digest authentication. HOST=@FILE, MINICRAWL_AUTH, "
        "minicrawl.toml and --netrc hide the password from other users; repeatable, none for no "
        "login.",
        weakens=reads_another_file,
    )
    bearer: tuple[str, ...] = setting(
        (),
        kinds.several(access.login("TOKEN", access.TOKEN)),
        "Send this bearer token to HOST; HOST=@FILE reads it from a file. Repeatable; none for no "
        "token.",
        weakens=reads_another_file,
    )
    netrc: Path | str | None = setting(
        None,
        kinds.optional(kinds.either(ON, kinds.FOUND_FILE)),
        "Take logins from this .netrc file; on reads the file named by NETRC, or ~/.netrc; none "
        "for no file.",
        weakens=differs,
    )
    cookies: Path | str = setting(
        OFF,
        kinds.either(ON, kinds.either(OFF, kinds.FOUND_FILE)),
        "Keep cookies in a file beside the store and send them back (on), starting with those in "
        "a Netscape cookie file (FILE), or ignore cookies (off).",
        weakens=starts_with_another_file,
        kept=True,
    )
    keep_credentials: bool = setting(
        False,
        kinds.SWITCH,
        "Archive heads of requests and responses whole, with logins, own headers and cookies. By "
        "default, lines that may hold secrets are left out.",
        weakens=is_higher,
    )
    sign_requests: Path | str | None = setting(
        None,
        kinds.optional(kinds.KEY_FILE),
        "Sign every request with the Ed25519 key in this PEM file (Web Bot Auth), so that servers "
        "can verify who asks; asked=FILE signs only for servers that have asked (Accept-Signature)."
        " `minicrawl about` makes the key and shows its directory. Needs minicrawl[signing] and "
        "--contact; none for no signatures.",
        weakens=differs,
    )

    @property
    def has_secrets(self) -> bool:
        """True if there are own headers or logins."""
        return bool(self.headers or self.auth or self.bearer or self.netrc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Pages to render in a browser, and limits per page."""

    render: str = setting(
        "never",
        kinds.choice("never", "auto", "always"),
        "Render pages in a browser; auto renders pages that are mostly scripts, and pages similar "
        "to those on the same host that gained links by rendering. With --requisites or --warc, it "
        "renders all pages whose scripts may fetch. Needs minicrawl[render] and Chromium.",
        kept=True,
    )
    workers: int = setting(
        1,
        kinds.whole(1, 64),
        "Number of browsers; each renders one page at a time.",
        name="render-workers",
        weakens=is_higher,
    )
    browser: Path | None = setting(
        None,
        kinds.optional(kinds.FILE),
        "Chromium executable that renders pages; none for the installed one.",
        weakens=differs,
    )

    screenshots: bool = setting(
        False,
        kinds.SWITCH,
        "Keep two pictures of each rendered page, of its top and of the whole (--keep pages or "
        "--warc). Its images, styles and fonts are then requested when it is rendered.",
        kept=True,
    )

    # Not settings:
    max_s: float = 20.0
    """Time limit per page, not counting waiting requests. The page is then read as it stands."""
    max_requests: int = 50
    """Limit of requests per page. Each waits for its host's turn."""
    max_memory: int = 1_000_000_000
    """Memory limit of a browser; a usual page takes 200 to 400 MB."""


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
        kept=True,
    )
    site_pages: int | None = setting(
        1000,
        kinds.optional(kinds.whole(1)),
        "Page quota of a host, of all hosts of its registrable domain or network, and of the hosts "
        "at one address, each raised by links from elsewhere; none for no limit. A page counts "
        "once for each new page it links to, up to 10, and a host as 10 pages of its domain; hosts "
        "of seeds have no quota.",
        kept=True,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    url: str | None = setting(
        None,
        kinds.optional(networks.NATS_SERVERS),
        "Crawl with other machines through these NATS servers: nats://host:4222, comma-separated, "
        "then /NAME if they serve several crawls. demo starts servers and nodes on this machine; "
        "none crawls on this machine alone.",
        name="cluster",
        weakens=differs,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """Store of a crawl, and the data to keep in it."""

    store: Path = setting(
        Path("data/crawl.db"), kinds.FILE, "SQLite file that holds the crawl.", weakens=differs
    )
    links: bool = setting(True, kinds.SWITCH, "Store the links between pages.", kept=True)
    strip_marks: bool = setting(
        True,
        kinds.SWITCH,
        "Remove session IDs and campaign parameters from URLs. The original URL is stored too.",
        off="--keep-marks",
        kept=True,
    )
    keep: str = setting(
        "pages",
        kinds.choice("pages", "text", "links", "none"),
        "Keep whole responses (pages) or only text (text) in FILE-pages beside the store, the "
        "text, rel and href of each link in the store (links), or nothing (none). In a cluster, "
        "the default is none.",
        kept=True,
    )
    keep_versions: int | str = setting(
        "all",
        kinds.either("all", kinds.either("changed", kinds.whole(1))),
        "Versions to keep of a page that is fetched again: all, the last N, or only changed ones. "
        "With N, older versions are removed once that frees a quarter of the archive; an "
        "unchanged version takes only the space of its heads.",
        kept=True,
    )
    warc: Path | str | None = setting(
        None,
        kinds.optional(kinds.WARC_PLACE),
        "Also write every response, including a 404, to WARC files in this folder, with their "
        "indexes (CDXJ). File names begin with NAME, or with that of the store. A new "
        "file begins after SIZE (1GB); none for no files.",
        weakens=differs,
        kept=True,
    )
    objects: str | None = setting(
        None,
        kinds.optional(kinds.OBJECT_STORE),
        "Move full files of kept pages and WARC to an object store: s3://BUCKET/PATH, gs://..., "
        "az://... or file:///FOLDER. Commands read ranges of them. Credentials come from the "
        "environment; none keeps files here.",
        weakens=differs,
        kept=True,
    )
    converge: bool = setting(
        True,
        kinds.SWITCH,
        "Compute converged importance for all known pages when the crawl ends, for at most a "
        "tenth of its time or 5 seconds, and while it is idle.",
    )
    dedupe_with: Path | None = setting(
        None,
        kinds.optional(kinds.FOUND_FILE),
        "Write responses whose body an earlier archive has, at any URL, as revisits without a "
        "body: in --warc, and in exported WARC and WACZ files. FILE is its index (CDXJ, plain or "
        "gzip), or a folder with those of many archives; none for no file. If it is the folder of "
        "--warc, its later crawls do so unasked.",
        weakens=differs,
    )
    check: tuple[str, ...] = setting(
        (),
        kinds.some_of("external", "assets", or_none=True),
        "After the crawl, check links that leave the scope or lead to files, with HEAD, or GET if "
        "HEAD is refused (external), or the images, styles, scripts and media of kept pages, the "
        "anchors in links such as /page#anchor, and whether missing pages are reported as such, by "
        "one request per folder (assets). Targets are not crawled, and --deny applies.",
    )
    requisites: bool = setting(
        False,
        kinds.SWITCH,
        "After the crawl, keep the images, styles, scripts, fonts and media of kept pages (--keep "
        "pages), from any host that allows it. --deny applies.",
        kept=True,
    )

    @property
    def keeps_answers(self) -> bool:
        """True if responses or their texts are archived beside the store."""
        return self.keep in ("pages", "text")

    @property
    def keeps_failures(self) -> bool:
        """True if whole responses are kept, including failures."""
        return self.keep == "pages" or self.warc is not None

    @property
    def is_for_replay(self) -> bool:
        """True if an archive of the pages is to show them again, with what their scripts fetch."""
        return self.requisites or self.warc is not None

    @property
    def may_converge(self) -> bool:
        """True if converged importance is to be computed, which needs links."""
        return self.converge and self.links
