"""The settings as frozen values, part by part.

The default of a field is the default of its setting; its row in `minicrawl.config.rows` has
everything else. A field without a row is a limit in the code that only tests change.
"""

from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = "environment"
"""Value that stands for the proxies in environment variables."""

SYSTEM = "system"
"""Value that stands for the resolver of the system."""
ON, OFF = "on", "off"
"""Values of settings that also take a file."""
AUTO = "auto"
FIRST_DELAY_S = 1.0
"""Delay of --delay auto before a host has responded."""
DEMO_STORE = Path("data/demo.db")
"""Where a demo crawl is stored."""
DEMO_USUAL = {"delay": 0, "endowment": 100}
"""Settings of a demo crawl: the server is local and needs no delay."""
DEMO_PAGES, FEWEST_DEMO_PAGES = 2000, 100
"""Default and minimum size of the demo web, in pages; its odd hosts dominate smaller ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """Links that get `strength` times their share in addition, from the virtual page's cash."""

    pattern: str
    strength: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits of a run; None for no limit."""

    pages: int | None = None
    new_pages: int | None = None
    seconds: float | None = None
    body_bytes: int | None = None
    importance: float | None = None
    continuous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Order of fetching, and computation of importance."""

    strategy: str = "siblings"
    order_by: str = "page"
    discovery: float = 1.0
    refresh: float = 0.0
    window: str = "interpolation"
    width: float = 8.0
    """Not a setting. Width in circulations of all cash; windows were measured with this one."""
    small_edge: float = 0.15
    endowment: int = 1000
    replay: int = 0
    """Not a setting. Pages per fetch that spend their cash again along stored links. Converged
    ranks, computed beside the ledger, serve reports better.
    """
    focus: tuple[Focus, ...] = ()
    focus_type: tuple[Focus, ...] = ()
    focus_words: tuple[Focus, ...] = ()
    focus_similar: tuple[Focus, ...] = ()
    weight_internal: float = 1.0

    @property
    def has_focus(self) -> bool:
        """True if --focus options give some links extra cash."""
        return bool(self.focus or self.focus_type or self.focus_words or self.focus_similar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Limits on the pages to fetch. Other pages are known and ranked only."""

    scope: str = "any"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_depth: int | None = None
    per_host_pages: int | None = None
    focus_only: int | None = None
    sitemaps: bool = False
    types: tuple[str, ...] = ("html",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """Request rate and identity of the crawler."""

    robots: bool = True
    delay_s: float | str = 1.0
    concurrency: int = 64
    per_host: int = 1
    per_address: int = 8
    address_delay_s: float = 0.1
    max_rate: str | None = None
    hours: str | None = None
    agent: str = "minicrawl"
    contact: str | None = None

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

    def delay_after(self, answer_s: float | None) -> float:
        """Return the delay for a host with this response time (None before the first response)."""
        delay_s = self.delay_s
        if not isinstance(delay_s, str):
            return delay_s
        wanted_s = FIRST_DELAY_S if answer_s is None else self.delay_factor * answer_s
        return min(max(wanted_s, self.min_delay_s), self.max_delay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Connections to servers."""

    timeout_s: float = 30.0
    max_body_bytes: int = 10_000_000
    resolve: tuple[str, ...] = ()
    name_server: tuple[str, ...] = ()
    allow_private: bool | None = None
    proxy: tuple[str, ...] = field(default=(ENVIRONMENT,), repr=False)  # it may have a login
    http2: str = "off"
    ca: Path | None = None
    client_cert: tuple[str, ...] = ()
    insecure: tuple[str, ...] = ()
    bind_address: tuple[str, ...] = ()
    workers: int | str = "auto"

    # Not settings:
    max_head_bytes: int = 64 * 1024
    """Eight times the usual server limit for request headers."""
    max_codings: int = 3
    """Nested content codings. Servers use one, rarely two; each multiplies the size of a bomb."""
    no_proxy: tuple[str, ...] = (ENVIRONMENT,)
    """Hosts contacted without a proxy; by default those in NO_PROXY."""

    @property
    def max_bodies_bytes(self) -> int:
        """Limit of all bodies in flight in a process: one of maximum size, and many usual ones."""
        return max(15_000_000, self.max_body_bytes * 3 // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Headers, logins and cookies. `repr` hides possible secrets."""

    headers: tuple[str, ...] = field(default=(), repr=False)
    user_agent: str | None = None
    languages: str | None = None
    auth: tuple[str, ...] = field(default=(), repr=False)
    bearer: tuple[str, ...] = field(default=(), repr=False)
    netrc: Path | str | None = None
    cookies: Path | str = OFF

    @property
    def has_secrets(self) -> bool:
        """True if anything is sent to some hosts only."""
        return bool(self.headers or self.auth or self.bearer or self.netrc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Pages to render in a browser, and limits per page."""

    render: str = "never"
    workers: int = 1
    browser: Path | None = None

    # Not settings:
    max_s: float = 20.0
    """Time limit per page, not counting waiting requests. The page is then read as it stands."""
    max_requests: int = 50
    """Limit of requests per page. Each waits for its host's turn."""
    max_memory: int = 1_000_000_000
    """Memory limit of a browser; a usual page takes 200 to 400 MB."""

    @property
    def is_on(self) -> bool:
        """True if any pages are rendered."""
        return self.render != "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits per page and per host."""

    max_tries: int = 5
    max_sitemaps: int = 100
    """Not a setting. Sitemaps per host; each has up to 50,000 URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """Limits that detect crawler traps; None for no limit."""

    barren_pages: int | None = 20
    same_pages: int | None = 10
    host_pages: int | None = 1000
    site_pages: int | None = 1000

    # Not settings:
    max_segments: int = 32
    """Segments of a path. Folders made by people are not nested that deep."""
    max_repeats: int = 4
    """Repeats of a path segment, ignoring numbers: /a/b/a/b/a/b comes from links without a leading
    slash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Cluster of a crawl, and credentials for its servers."""

    url: str | None = None
    creds: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """Store of a crawl, and the data to keep in it."""

    store: Path = Path("data/crawl.db")
    links: bool = True
    strip_marks: bool = True
    converge: bool = True
    keep: str = "pages"
    keep_versions: int | str = "all"
    warc: Path | None = None
    check_external: bool = False
    check_assets: bool = False
    requisites: bool = False

    @property
    def keeps_answers(self) -> bool:
        """True if there is an archive."""
        return self.keep in ("pages", "text")

    @property
    def keeps_failures(self) -> bool:
        """True if whole responses are kept, including failures."""
        return self.keep == "pages" or self.warc is not None

    @property
    def checks_links(self) -> bool:
        """True if URLs outside the crawl are requested."""
        return self.check_external or self.check_assets or self.requisites

    @property
    def may_converge(self) -> bool:
        """True if converged importance is to be computed, which needs links."""
        return self.converge and self.links
