"""Settings written as a file, as JSON, and into a store."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from minicrawl.config.settings import DEFAULT, Loaded, Settings, load
from minicrawl.config.sources import from_store
from minicrawl.config.table import BY_NAME, TABLE
from minicrawl.config.writing import as_kept, as_text, as_toml


def words() -> st.SearchStrategy[str]:
    return st.text(min_size=1).filter(fits)


def fits(text: str) -> bool:
    return text.isprintable() and text == " ".join(text.split())


def read_back(text: str, folder: Path) -> Settings:
    file = folder / "minicrawl.toml"
    file.write_text(text, encoding="utf-8")
    return load({}, {}, file).settings


def test_a_line_has_the_value_and_its_origin() -> None:
    lines = as_toml(load({"pages": "5", "score": ("words:a",)}, {"MINICRAWL_FOR": "2h"}, None))
    shown = [line.split() for line in lines.splitlines()]
    assert ["pages", "=", "5", "#", "--pages"] in shown
    assert ["for", "=", "7200", "#", "MINICRAWL_FOR"] in shown
    assert ["bytes", "=", '"none"', "#", "default"] in shown
    assert ["robots", "=", "true", "#", "default"] in shown
    assert ["score", "=", '["words:a"]', "#", "--score"] in shown


def test_an_origin_cannot_break_out_of_its_comment() -> None:
    loaded = Loaded(settings=Settings(), origins={s.name: "a\nb = 1" for s in TABLE})
    assert "a?b = 1" in as_toml(loaded)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "pages": st.none() | st.integers(1, 2**31 - 1),
            "for_": st.floats(1e-6, 1e9),
            "bytes": st.integers(1, 2**63 - 1),
            "continuous": st.booleans(),
            "refresh": st.floats(0, 1),
            "small_edge": st.floats(0.01, 0.99),
            "score_weight": st.floats(0, 4),
            "weight_internal": st.floats(0, 1e300),
            "store": words(),
            "deny": st.lists(st.sampled_from(['a"b', r"\d+\.é$", "#", "[x]"])),
            "contact": st.just("me@example.org"),
        },
    )
)
def test_shown_settings_are_read_unchanged(tmp_path: Path, arguments: dict[str, Any]) -> None:
    made = Settings.of(**arguments)
    shown = as_toml(Loaded(settings=made, origins={setting.name: DEFAULT for setting in TABLE}))
    assert read_back(shown, tmp_path) == made


def test_a_store_keeps_the_given_settings_that_define_the_crawl() -> None:
    given = load(
        {"pages": "5", "scope": "any", "deny": ("a", "b")}, {"MINICRAWL_DELAY": "2s"}, None
    )
    kept = from_store(Path("a.db"), {"contact": "me@example.org", "score": ["words:a"]})
    assert as_kept(given.resumed(kept)) == {
        "scope": "any",
        "deny": ["a", "b"],
        "delay": 2,
        "contact": "me@example.org",
        "score": ["words:a"],
    }


@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "scope": st.sampled_from(BY_NAME["scope"].kind.names),
            "deny": st.lists(st.sampled_from(['a"b', r"\d+\.é$", "#", "[x]"])),
            "max_depth": st.none() | st.integers(0, 2**31 - 1),
            "delay": st.floats(1, 1e9),
            "score_weight": st.floats(0, 4),
            "weight_internal": st.floats(0, 1e300),
            "contact": st.none() | st.just("me@example.org"),
            "site_pages": st.none() | st.integers(1, 100),
            "small_edge": st.floats(0.01, 0.99),
        },
    )
)
def test_kept_settings_are_read_unchanged(arguments: dict[str, Any]) -> None:
    made = Settings.of(**arguments)
    kept = json.loads(json.dumps(as_kept(Loaded.of(made)), allow_nan=False))
    assert load({}, {}, None).resumed(from_store(Path("a.db"), kept)).settings == made


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (True, "on"),
        (False, "off"),
        (None, "none"),
        ([], "none"),
        (["a", "b"], "a, b"),
        (0.2, "0.2"),
        (0, "0"),
        ("any", "any"),
    ],
)
def test_a_message_shows_a_value_as_a_flag_takes_it(value: object, words: str) -> None:
    assert as_text(value) == words
