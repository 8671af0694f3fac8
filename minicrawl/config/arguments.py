"""The arguments of `Settings.of` with their types, for type checkers and completion.

The table of settings decides at run time; a test compares the names.
"""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Literal, TypedDict

Time = float | str
"""Seconds, or text such as `1h30m`."""
Size = int | str
"""Bytes, or text such as `10MB`."""
Strengths = str | Sequence[str] | Mapping[str, float]


class SettingArguments(TypedDict, total=False):
    """A key for each row of the table. Text is read as on the command line."""

    pages: int | None
    new_pages: int | None
    for_: Time | None
    bytes: Size | None
    until: float | str | None
    continuous: bool
    strategy: Literal["siblings", "greedy", "random", "breadth-first"]
    order_by: Literal["page", "site"]
    discovery: float | str
    refresh: float | str
    window: Literal["interpolation", "variable", "fixed", "improved-fixed", "adaptive", "static"]
    width: float
    measures: int | None
    small_edge: float | str
    endowment: int
    newborn: Literal["unit", "host-mean"]
    replay: int
    focus: Strengths
    focus_type: Strengths
    focus_words: Strengths
    focus_similar: Strengths
    weight_internal: float
    weight_dynamic: float
    weight_emphasis: float
    scope: Literal["any", "domain", "host", "prefix"]
    allow: str | Sequence[str]
    deny: str | Sequence[str]
    max_depth: int | None
    per_host_pages: int | None
    focus_only: int | None
    sitemaps: bool
    types: str | Sequence[str]
    robots: bool
    delay: Time | Literal["auto"]
    delay_factor: float
    min_delay: Time
    max_delay: Time
    max_pause: Time
    max_strikes: int
    concurrency: int
    per_host: int
    per_address: int
    address_delay: Time
    silent_share: float | str
    max_rate: float | str | None
    hours: str | None
    agent: str
    contact: str | None
    timeout: Time
    max_body: Size
    max_bodies: Size
    max_head: Size
    max_codings: int
    resolve: str | Sequence[str]
    name_server: str | Sequence[str]
    allow_private: bool | None
    workers: int | Literal["auto"]
    proxy: str | Sequence[str]
    no_proxy: str | Sequence[str]
    http2: Literal["off", "auto"]
    ca: str | PathLike[str] | None
    client_cert: str | PathLike[str] | Sequence[str] | None
    client_key: str | PathLike[str] | Sequence[str] | None
    insecure: str | Sequence[str]
    min_tls: Literal["1.2", "1.3"]
    prefer_family: Literal["auto", "ipv4", "ipv6"]
    bind_address: str | Sequence[str]
    header: str | Sequence[str]
    user_agent: str | None
    languages: str | None
    auth: str | Sequence[str]
    bearer: str | Sequence[str]
    netrc: str | PathLike[str] | None
    cookies: str | PathLike[str]
    render: Literal["never", "auto", "always"]
    render_workers: int
    browser: str | PathLike[str] | None
    max_rendering: Time
    max_render_requests: int
    max_render_memory: Size
    max_links: int
    max_redirects: int
    max_tries: int
    max_sitemaps: int
    max_robots: Size
    max_reading: Time
    max_segments: int
    max_repeats: int
    barren_pages: int
    same_pages: int
    host_pages: int
    site_pages: int
    store: str | PathLike[str]
    links: bool
    strip_marks: bool
    converge: bool
    keep: Literal["pages", "text", "links", "none"]
    keep_versions: Literal["all", "changed"] | int
    warc: str | PathLike[str] | None
    check_external: bool
    check_assets: bool
    requisites: bool
    cluster: str | None
    cluster_creds: str | PathLike[str] | None
    cluster_ca: str | PathLike[str] | None
    cluster_cert: str | PathLike[str] | None
    cluster_key: str | PathLike[str] | None
