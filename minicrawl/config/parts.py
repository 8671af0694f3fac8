"""The settings as frozen values, part by part.

The default of a field is the default of its setting. All else about a setting is in its row of
`minicrawl.config.rows`. What has no row is a limit of the code: nobody needs to turn it, but tests
give other values.
"""

from dataclasses import dataclass, field
from pathlib import Path

ENVIRONMENT = "environment"
"""In place of proxies: those that the variables of the environment name."""

SYSTEM = "system"
"""In place of name servers: whatever the system does to find a name."""
ON, OFF = "on", "off"
"""Of settings that also take a file."""
AUTO = "auto"
FIRST_DELAY_S = 1.0
"""With --delay auto, until a host has answered."""
DEMO_STORE = Path("data/demo.db")
"""Where a demo crawl is stored."""
DEMO_USUAL = {"delay": 0, "endowment": 100}
"""Settings of a demo crawl: our own server needs no delay, and nobody chose the seeds."""
DEMO_PAGES, FEWEST_DEMO_PAGES = 2000, 100
"""Default size of the demo web, and the smallest: in smaller ones its peculiar hosts prevail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """Links that get `strength` times their share on top, out of the virtual page's cash."""

    pattern: str
    strength: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop. None is no limit."""

    pages: int | None = None
    new_pages: int | None = None
    seconds: float | None = None
    body_bytes: int | None = None
    importance: float | None = None
    continuous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which page is read next, and how importance is computed."""

    strategy: str = "siblings"
    order_by: str = "page"
    discovery: float = 1.0
    refresh: float = 0.0
    window: str = "interpolation"
    width: float = 8.0
    """No setting. In circulations of all cash; what we measured of windows is about this one."""
    small_edge: float = 0.15
    endowment: int = 1000
    replay: int = 0
    """No setting. Pages that spend their cash again along stored links for each fetch. Converged
    ranks, which are computed beside the ledger, tell reports more.
    """
    focus: tuple[Focus, ...] = ()
    focus_type: tuple[Focus, ...] = ()
    focus_words: tuple[Focus, ...] = ()
    focus_similar: tuple[Focus, ...] = ()
    weight_internal: float = 1.0

    @property
    def has_focus(self) -> bool:
        """Whether some links get more than others, as the user wants."""
        return bool(self.focus or self.focus_type or self.focus_words or self.focus_similar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which pages may be fetched. All others are only known and ranked."""

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
    """How often a server is asked, and under which name."""

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

    # No settings:
    delay_factor: float = 5.0
    """--delay auto waits so many times as long as a host takes to answer, so that we are a sixth of
    its load at most."""
    min_delay_s: float = 0.5
    """The shortest wait of --delay auto: a quick host may have many other guests."""
    max_delay_s: float = 60.0
    """The longest wait of --delay auto, and the longest Crawl-delay that is obeyed: with more, a
    host of a thousand pages would take days."""
    max_pause_s: float = 3600.0
    """The longest pause for a host that fails or asks for one, and how long a host stays down: a
    crawl of a day tries it again two dozen times."""
    max_strikes: int = 6
    """So many failures put a host down. Each success halves the count."""
    silent_share: float = 0.5
    """Of all places, for hosts that have not answered recently: half is left for the others."""

    def delay_after(self, answer_s: float | None) -> float:
        """Our own delay for a host whose answers take so long; None if there was none yet."""
        delay_s = self.delay_s
        if not isinstance(delay_s, str):
            return delay_s
        wanted_s = FIRST_DELAY_S if answer_s is None else self.delay_factor * answer_s
        return min(max(wanted_s, self.min_delay_s), self.max_delay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """How servers are reached."""

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

    # No settings:
    max_head_bytes: int = 64 * 1024
    """Eight times what most servers allow requests to have."""
    max_codings: int = 3
    """One over another. Servers use one, seldom two; each multiplies what a body may swell to."""
    no_proxy: tuple[str, ...] = (ENVIRONMENT,)
    """Hosts that are asked without a proxy: those in NO_PROXY."""

    @property
    def max_bodies_bytes(self) -> int:
        """How large all bodies under way in a process may be together: one of the largest, and many
        of the usual size beside it."""
        return max(15_000_000, self.max_body_bytes * 3 // 2)

    @property
    def needs_httpx(self) -> bool:
        """Whether some requests need more than connections of our own: a proxy, or HTTP/2."""
        return self.http2 != "off" or any(text != ENVIRONMENT for text in self.proxy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who we are to servers. What may be a secret is not shown by `repr`."""

    headers: tuple[str, ...] = field(default=(), repr=False)
    user_agent: str | None = None
    languages: str | None = None
    auth: tuple[str, ...] = field(default=(), repr=False)
    bearer: tuple[str, ...] = field(default=(), repr=False)
    netrc: Path | str | None = None
    cookies: Path | str = OFF

    @property
    def has_secrets(self) -> bool:
        """Whether something is sent to some hosts only."""
        return bool(self.headers or self.auth or self.bearer or self.netrc)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """Which pages a browser renders, and how much one of them may cost."""

    render: str = "never"
    workers: int = 1
    browser: Path | None = None

    # No settings:
    max_s: float = 20.0
    """For a page, without the time for which its requests wait. What is there by then is read."""
    max_requests: int = 50
    """A page may send so many of its own. Each waits for the turn of its host."""
    max_memory: int = 1_000_000_000
    """Of a browser, which takes 200 to 400 MB for a usual page."""

    @property
    def is_on(self) -> bool:
        """Whether some pages are rendered."""
        return self.render != "never"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one page or one host may cost."""

    max_tries: int = 5
    max_sitemaps: int = 100
    """No setting. Of a host; each has up to 50,000 URLs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """When pages are taken for a trap. None is no limit."""

    barren_pages: int | None = 20
    same_pages: int | None = 10
    host_pages: int | None = 1000
    site_pages: int | None = 1000

    # No settings:
    max_segments: int = 32
    """Of a path. Folders that people make are not nested so deep."""
    max_repeats: int = 4
    """How often a path may have the same segment, numbers aside: /a/b/a/b/a/b comes of links that
    lack a slash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Which cluster a crawl is part of, and how its servers are reached."""

    url: str | None = None
    creds: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """What is stored, and where."""

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
        """Whether there is an archive."""
        return self.keep in ("pages", "text")

    @property
    def keeps_failures(self) -> bool:
        """Whether answers are kept whole, also those that are no pages."""
        return self.keep == "pages" or self.warc is not None

    @property
    def checks_links(self) -> bool:
        """Whether something is asked for that is not crawled."""
        return self.check_external or self.check_assets or self.requisites

    @property
    def may_converge(self) -> bool:
        """Whether the importance is to converge: that takes links."""
        return self.converge and self.links
