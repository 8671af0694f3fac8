"""The table of settings: one declaration gives all names, an option, a default and a store key."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

import pytest

from minicrawl.config.declaration import Section, Setting, differs, setting, settings_in
from minicrawl.config.settings import Settings
from minicrawl.config.table import BY_NAME, SECTIONS, STORED, TABLE
from minicrawl.config.values.kinds import PATTERN, SWITCH, WAIT, InvalidValue, several
from minicrawl.opic.windows import by_name

every_setting = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
LIMITS = {
    "order": "width watch replay",
    "politeness": "delay_factor min_delay_s max_delay_s max_pause_s max_strikes silent_share",
    "network": "max_head_bytes max_codings host_settings no_proxy",
    "rendering": "max_s max_requests max_memory",
    "limits": "max_sitemaps",
    "traps": "max_segments max_repeats",
}
"""Fields without a setting, to which only tests give other values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sea:
    """Part of settings with a field of each form."""

    tide_s: float = setting(0.5, WAIT, "Wait for the tide.", name="tide", weakens=differs)
    is_deep: bool = setting(True, SWITCH, "Dive.", name="deep", stored=True)
    from_: tuple[str, ...] = setting((), several(PATTERN), "Sail from here.", name="from")
    depth: int = 11
    """A limit in the code."""


def test_a_field_declares_all_names_of_a_setting() -> None:
    rows = list(settings_in(Section("sea", Sea)))
    assert [(row.flag, row.off, row.variable, row.key, row.argument) for row in rows] == [
        ("--tide", "", "MINICRAWL_TIDE", "sea.tide", "tide"),
        ("--deep", "--no-deep", "MINICRAWL_DEEP", "sea.deep", "deep"),
        ("--from", "", "MINICRAWL_FROM", "sea.from", "from_"),
    ]
    assert [row.default for row in rows] == [0.5, True, ()]
    assert [row.stored for row in rows] == [False, True, False]
    assert rows[0].weakens is differs
    assert Sea(tide_s=2).tide_s == 2
    assert Sea().depth == 11


def test_every_field_is_a_setting_or_a_limit_in_the_code() -> None:
    in_parts = {(s.part, field.name) for s in SECTIONS.values() for field in fields(s.make)}
    limits = [(part, name) for part, names in LIMITS.items() for name in names.split()]
    assert sorted([(row.section.part, row.field) for row in TABLE] + limits) == sorted(in_parts)
    assert {section.part for section in SECTIONS.values()} == {f.name for f in fields(Settings)}


@pytest.mark.parametrize(
    "names",
    [
        *([getattr(row, name) for row in TABLE] for name in ("name", "variable", "key")),
        [row.argument for row in TABLE],
        [flag for row in TABLE for flag in (row.flag, row.off) if flag],
    ],
)
def test_no_two_settings_share_a_name_or_a_flag(names: Iterable[str]) -> None:
    assert sorted(set(names)) == sorted(names)


def test_there_are_at_most_77_settings() -> None:
    """A new one is a decision: would a default, or a value of another setting, not do?"""
    assert len(TABLE) <= 77


@every_setting
def test_a_default_is_a_value_of_its_kind(row: Setting) -> None:
    assert row.kind.read(row.default) == row.default


def test_a_switch_may_be_unset() -> None:
    switch = BY_NAME["allow-private"]
    for given, read in ((None, None), ("none", None), ("on", True), (False, False), ("no", False)):
        assert switch.kind.read(given) is read


def test_settings_of_a_crawl_are_kept_and_those_of_a_run_are_not() -> None:
    kept = {row.name for row in STORED}
    assert kept > {row.name for row in TABLE if row.section.name in ("scope", "traps")}
    assert kept > {"robots", "obey-usage", "agent", "contact", "delay", "address-delay"}
    assert kept > {"score", "score-weight", "weight-internal", "window", "strategy"}
    assert kept > {"small-edge", "endowment", "links", "keep", "keep-versions", "warc"}
    assert kept > {"requisites", "user-agent", "languages", "cookies", "render"}
    of_a_run = {"pages", "for", "bytes", "continuous", "order-by", "refresh"}
    of_a_run |= {"concurrency", "per-host", "resolve", "allow-private", "workers", "store"}
    of_a_run |= {"header", "auth", "bearer", "netrc", "render-workers", "browser"}
    assert not kept & of_a_run


def test_the_windows_are_those_of_the_algorithm() -> None:
    assert set(BY_NAME["window"].kind.names) == set(by_name.WINDOWS)


@pytest.mark.parametrize(
    ("value", "window"),
    [
        *(("variable:16", "variable:16"), ("fixed:4.50", "fixed:4.5"), ("static", "static")),
        *(("fixed:4w", "fixed:4w"), ("fixed:28d", "fixed:4w"), ("fixed:30d", "fixed:30d")),
        *(("improved-fixed:12h", "improved-fixed:12h"), ("fixed:10000001s", "fixed:10000001s")),
    ],
)
def test_a_window_may_have_a_size(value: str, window: str) -> None:
    assert BY_NAME["window"].kind.read(value) == window


@pytest.mark.parametrize(
    "value",
    [
        *(
            "static:8",
            "static:4w",
            "variable:1.5",
            "variable:0",
            "variable:",
            "variable:4w",
            "odd:3",
        ),
        *("fixed:0", "fixed:", "fixed:0w", "fixed:1ms", "fixed:4y", "fixed:9999999w"),
        *("interpolation:4w", "adaptive:12h"),
    ],
)
def test_a_window_has_a_size_that_fits_it(value: str) -> None:
    with pytest.raises(InvalidValue):
        BY_NAME["window"].kind.read(value)


def test_the_largest_endowment_leaves_room_for_the_pages() -> None:
    assert BY_NAME["endowment"].kind.read(2**30) == 2**30
