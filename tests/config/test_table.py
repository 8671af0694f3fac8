"""The table is complete and its names are regular: nothing is settable in one way only."""

from dataclasses import fields

import pytest

from minicrawl.config.crawl_rows import MOST_ENDOWMENT, WINDOWS
from minicrawl.config.parts import Focus
from minicrawl.config.rows import BY_NAME, GONE, KEPT, TABLE
from minicrawl.config.setting import SECTIONS, Setting
from minicrawl.config.settings import Settings
from minicrawl.opic import windows

every_setting = pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)


LIMITS = {
    "order": "width replay",
    "politeness": "delay_factor min_delay_s max_delay_s max_pause_s max_strikes silent_share",
    "network": "max_head_bytes max_codings no_proxy",
    "rendering": "max_s max_requests max_memory",
    "limits": "max_sitemaps",
    "traps": "max_segments max_repeats",
}
"""Fields that no user needs to turn, and that tests give other values."""


def test_every_row_is_a_field_and_every_field_is_a_row_or_a_limit_of_the_code() -> None:
    in_parts = {(s.part, field.name) for s in SECTIONS.values() for field in fields(s.make)}
    limits = [(part, name) for part, names in LIMITS.items() for name in names.split()]
    assert sorted([(row.section.part, row.field) for row in TABLE] + limits) == sorted(in_parts)
    assert {section.part for section in SECTIONS.values()} == {f.name for f in fields(Settings)}


@pytest.mark.parametrize("name", ["name", "variable", "key", "argument"])
def test_no_two_settings_share_a_name(name: str) -> None:
    names = [getattr(setting, name) for setting in TABLE]
    assert len(set(names)) == len(names)


def test_no_two_settings_share_a_flag() -> None:
    flags = [setting.flag for setting in TABLE]
    flags += [setting.off for setting in TABLE if setting.off]
    assert len(set(flags)) == len(flags)


def test_there_are_no_more_settings_than_one_can_choose_among() -> None:
    assert len(TABLE) <= 75


def test_what_is_gone_is_no_setting_and_says_what_holds() -> None:
    assert not GONE.keys() & BY_NAME.keys()
    assert all(one.why for one in GONE.values())


@pytest.mark.parametrize(
    ("name", "flag", "variable", "key", "argument"),
    [
        ("pages", "--pages", "MINICRAWL_PAGES", "budget.pages", "pages"),
        ("for", "--for", "MINICRAWL_FOR", "budget.for", "for_"),
        ("delay", "--delay", "MINICRAWL_DELAY", "politeness.delay", "delay"),
        ("max-depth", "--max-depth", "MINICRAWL_MAX_DEPTH", "scope.max-depth", "max_depth"),
        ("focus-words", "--focus-words", "MINICRAWL_FOCUS_WORDS", "focus-words", "focus_words"),
    ],
)
def test_from_one_name_come_all_others(
    name: str, flag: str, variable: str, key: str, argument: str
) -> None:
    row = BY_NAME[name]
    assert (row.flag, row.variable, row.key, row.argument) == (flag, variable, key, argument)


@every_setting
def test_a_default_is_a_value_of_its_kind(setting: Setting) -> None:
    assert setting.kind.read(setting.default) == setting.default


@every_setting
def test_a_switch_can_be_turned_off_again(setting: Setting) -> None:
    is_switch = isinstance(setting.default, bool) or setting.name == "allow-private"
    assert bool(setting.off) == is_switch


def test_a_switch_that_nobody_touched_is_neither_on_nor_off() -> None:
    switch = BY_NAME["allow-private"]
    for given, read in ((None, None), ("none", None), ("on", True), (False, False), ("no", False)):
        assert switch.kind.read(given) is read


def test_tables_are_those_of_strengths() -> None:
    for setting in TABLE:
        read = setting.kind.read([]) if setting.kind.many else None
        assert setting.is_table == (read == () and setting.name.startswith("focus"))
    assert BY_NAME["focus"].kind.read("a") == (Focus(pattern="a"),)


def test_what_defines_a_crawl_is_kept_and_what_is_said_for_a_run_is_not() -> None:
    kept = {setting.name for setting in KEPT}
    assert kept > {"scope", "allow", "deny", "max-depth", "per-host-pages", "sitemaps", "types"}
    assert kept > {"robots", "agent", "contact", "delay", "address-delay", "host-pages"}
    assert kept > {"focus", "focus-type", "focus-words", "weight-internal", "window", "strategy"}
    assert kept > {"small-edge", "endowment", "links"}
    of_a_run = {"pages", "for", "bytes", "continuous", "order-by", "discovery", "refresh"}
    of_a_run |= {"concurrency", "per-host", "resolve", "allow-private", "workers", "store"}
    assert not kept & of_a_run
    assert kept > {"keep", "keep-versions", "warc", "requisites"}
    assert kept > {"user-agent", "languages", "cookies", "render"}
    assert not kept & {"header", "auth", "bearer", "netrc"}
    assert not kept & {"render-workers", "browser"}
    assert len(kept) == 36


def test_the_windows_are_those_of_the_algorithm() -> None:
    assert set(WINDOWS) == set(windows.WINDOWS)


def test_the_largest_endowment_leaves_room_for_the_pages() -> None:
    assert BY_NAME["endowment"].kind.read(MOST_ENDOWMENT) == 2**30
