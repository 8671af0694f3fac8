# Written by `python -m tests.reference --write`: edit config/parts, not this file.
"""Arguments of `Settings.of`, one per setting. Text is parsed as on the command line."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypeAlias, TypedDict

Time: TypeAlias = float | str
"""Seconds, or text such as `1h30m`."""
Size: TypeAlias = int | str
"""Bytes, or text such as `10MB`."""

class SettingArguments(TypedDict, total=False):
    pages: int | None
    new_pages: int | None
    for_: Time | None
    bytes: Size | None
    until: float | str | None
    continuous: bool
    strategy: str
    order_by: Literal["page", "site"]
    refresh: float | str
    window: str
    small_edge: float | str
    endowment: int
    score: str | Sequence[str]
    score_weight: float | str
    deterministic: bool
    weight_internal: float | str
    scope: str
    allow: str | Sequence[str]
    deny: str | Sequence[str]
    max_depth: int | None
    per_host_pages: int | None
    sitemaps: bool
    types: str | Sequence[str]
    robots: bool
    obey_usage: Literal["search", "ai-input", "ai-train", "archive"] | None
    delay: Time | Literal["auto"]
    concurrency: int
    per_host: int
    per_address: int
    address_delay: Time
    max_rate: float | str | None
    hours: str | None
    agent: str
    contact: str | None
    host_setting: str | Sequence[str]
    timeout: Time
    max_body: Size
    max_file: Size
    raw_bodies: bool
    resolve: str | Sequence[str]
    name_server: str | Sequence[str]
    notify: str | None
    allow_private: bool | None
    workers: int | Literal["auto"]
    proxy: str | Sequence[str]
    ca: str | PathLike[str] | None
    client_cert: str | PathLike[str] | Sequence[str]
    insecure: str | Sequence[str]
    bind_address: str | Sequence[str]
    header: str | Sequence[str]
    user_agent: str | None
    languages: str | None
    auth: str | Sequence[str]
    bearer: str | Sequence[str]
    netrc: str | PathLike[str] | None
    cookies: str | PathLike[str]
    keep_credentials: bool
    sign_requests: str | PathLike[str] | None
    render: Literal["never", "auto", "always"]
    render_workers: int
    browser: str | PathLike[str] | None
    screenshots: bool
    max_tries: int | None
    barren_pages: int | None
    site_pages: int | None
    store: str | PathLike[str]
    links: bool
    strip_marks: bool
    keep: Literal["pages", "text", "links", "none"]
    keep_versions: int | Literal["changed"] | Literal["all"]
    warc: str | PathLike[str] | None
    objects: str | None
    converge: bool
    dedupe_with: str | PathLike[str] | None
    check: str | Sequence[str]
    requisites: bool
    cluster: str | None
