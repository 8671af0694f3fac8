"""Settings for one host or for a domain: from options and files, for strangers and in stores."""

from pathlib import Path

import pytest

from minicrawl.config import Politeness, Settings, load
from minicrawl.config.host_settings import rules_for
from minicrawl.config.settings import Loaded
from minicrawl.config.sources import from_store
from minicrawl.config.writing import as_kept, as_toml
from minicrawl.errors import UsageError

RULES = ("*.example.org:delay=2", "slow.example.org:delay=9", "*.a.example.org:per-host=3")


@pytest.mark.parametrize(
    ("host", "delay_s", "per_host"),
    [
        ("slow.example.org", 9.0, 1),
        ("SLOW.example.org", 9.0, 1),
        ("b.a.example.org", 2.0, 3),
        ("example.org", 1.0, 1),
        ("other.test", 1.0, 1),
    ],
)
def test_the_rule_of_a_host_wins_over_that_of_its_domain(
    host: str, delay_s: float, per_host: int
) -> None:
    politeness = Settings.of(host_setting=RULES).politeness.of_host(host)
    assert (politeness.delay_s, politeness.per_host) == (delay_s, per_host)


def test_without_rules_all_hosts_share_one_politeness() -> None:
    politeness = Politeness()
    assert politeness.of_host("a.example") is politeness


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a.example:deley=1", "no setting of a host: use delay, per-host, "),
        ("a.example:pages=1", "no setting of a host"),
        ("a.example:delay=soon", "delay must be a time"),
        ("a.example", "must be HOST:NAME=VALUE"),
        ("a.example:auth=me:secret", r"a\.example:auth=\*\*\*: is written --auth a\.example="),
        ("a.example:proxy=@file", "must name a proxy URL, or none"),
    ],
)
def test_what_is_no_setting_of_a_host_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        load({"host_setting": (text,)}, {}, None)


def test_a_file_has_all_settings_of_a_host_in_one_place(tmp_path: Path) -> None:
    file = tmp_path / "minicrawl.toml"
    file.write_text(
        '[access]\nheader = "X-All: a"\n[hosts."a.example"]\ndelay = "5s"\nrobots = false\n'
        'header = ["X-One: b", "X-Two: c"]\nauth = "me:secret"\n'
        '[hosts."*.b.example"]\nhours = "22-6"\n'
    )
    settings = load({}, {}, file).settings
    assert set(rules_for(settings.politeness.host_settings, "a.example")) == {"delay", "robots"}
    assert settings.politeness.of_host("a.example").delay_s == 5
    assert not settings.politeness.of_host("a.example").robots
    assert settings.politeness.of_host("w.b.example").hours == "22-6"
    assert settings.access.headers == (*("X-All: a", "a.example=X-One: b", "a.example=X-Two: c"),)
    assert settings.access.auth == ("a.example=me:secret",)
    again = tmp_path / "again.toml"
    again.write_text(as_toml(Loaded.of(Settings.of(host_setting=RULES))))
    assert load({}, {}, again).settings.politeness.host_settings == RULES


def test_a_bad_table_of_a_host_is_named(tmp_path: Path) -> None:
    file = tmp_path / "minicrawl.toml"
    for text, place in (("hosts = 1\n", "hosts"), ("[hosts]\na = 1\n", r"hosts\.a: must be a sec")):
        file.write_text(text)
        with pytest.raises(UsageError, match=place):
            load({}, {}, file)


def test_a_strangers_rule_may_slow_a_crawl_down_but_not_hasten_it(tmp_path: Path) -> None:
    file = tmp_path / "minicrawl.toml"
    file.write_text(
        '[hosts."a.example"]\ndelay = 9\nrobots = false\n[hosts."b.example"]\ndelay = 4\n'
    )
    loaded = load({"delay": "5"}, {}, None, file, is_file_named=False)
    assert loaded.settings.politeness.host_settings == ("a.example:delay=9",)
    assert "host-setting" in loaded.ignored
    assert load({}, {}, file).settings.politeness.of_host("b.example").delay_s == 4


def test_a_store_keeps_the_rules_but_no_proxies() -> None:
    texts = ("a.example:delay=9", "a.example:proxy=http://me:secret@proxy.example:1")
    given = Settings.given(host_setting=texts)
    assert "secret" not in as_toml(given)
    kept = as_kept(given)
    assert kept == {"host-setting": ["a.example:delay=9"]}
    resumed = load({}, {}, None).resumed(from_store("crawl.db", kept))
    assert resumed.settings.politeness.of_host("a.example").delay_s == 9


def test_pages_of_one_host_may_be_rendered() -> None:
    settings = Settings.of(host_setting=("a.example:render=auto",))
    assert (settings.render_of("a.example"), settings.render_of("b.example")) == ("auto", "never")
    assert settings.is_rendering
    assert not Settings().is_rendering
