"""The settings themselves: frozen values, each part of the house gets its slice.

A field's default is the setting's default; all else about it stands in `minicrawl.config.table`.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """Pages that get `strength` times their part once more, out of the virtual page's cash."""

    pattern: str
    strength: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When to stop; None is no limit."""

    pages: int | None = None
    seconds: float | None = None
    body_bytes: int | None = None
    continuous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Which page comes next, and what its importance is made of."""

    strategy: str = "greedy"
    discovery: float = 1.0
    refresh: float = 0.0
    window: str = "interpolation"
    width: float = 8.0
    endowment: int = 1000
    replay: int = 0
    focus: tuple[Focus, ...] = ()
    focus_type: tuple[Focus, ...] = ()
    focus_words: tuple[Focus, ...] = ()
    weight_internal: float = 1.0
    weight_dynamic: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What may be fetched; all else is known and ranked only."""

    scope: str = "any"
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    max_depth: int | None = None
    per_host_pages: int | None = None
    sitemaps: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """How often a server is asked, and as whom."""

    robots: bool = True
    delay_s: float = 1.0
    max_delay_s: float = 60.0
    max_pause_s: float = 3600.0
    max_strikes: int = 6
    concurrency: int = 64
    per_host: int = 1
    per_address: int = 8
    address_delay_s: float = 0.1
    silent_share: float = 0.5
    agent: str = "minicrawl"
    contact: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """How servers are reached."""

    timeout_s: float = 30.0
    max_body_bytes: int = 10_000_000
    max_bodies_bytes: int = 15_000_000
    max_head_bytes: int = 64 * 1024
    max_codings: int = 3
    resolve: tuple[str, ...] = ()
    allow_private: bool | None = None
    workers: int | str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one page or one host may ask of the crawl."""

    max_links: int = 10_000
    max_redirects: int = 10
    max_tries: int = 5
    max_sitemaps: int = 100
    max_robots_bytes: int = 512 * 1024
    max_reading_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """Where pages have no end; None is no limit."""

    max_segments: int | None = 32
    max_repeats: int | None = 4
    barren_pages: int | None = 20
    same_pages: int | None = 10
    host_pages: int | None = 1000
    site_pages: int | None = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Storing:
    """Where what is learned stays."""

    store: Path = Path("data/crawl.db")
    links: bool = True
    strip_marks: bool = True
