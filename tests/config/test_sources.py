"""Sources of settings: arguments, flags, variables, files and stores."""

import re
from pathlib import Path

import pytest

from minicrawl.config.parts import BY_NAME
from minicrawl.config.settings import (
    GONE,
    Given,
    from_arguments,
    from_environment,
    from_file,
    from_flags,
    from_store,
    unknown_variables,
)
from minicrawl.errors import UsageError


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("minicrawl.toml")


def test_a_flag_that_was_not_given_gives_nothing() -> None:
    assert from_flags({"pages": None, "allow": ()}) == {}


def test_a_flag_is_shown_as_it_was_written() -> None:
    given = from_flags({"pages": "5", "sitemaps": True, "robots": False, "deny": ("a",)})
    assert {name: one.place for name, one in given.items()} == {
        "pages": "--pages",
        "sitemaps": "--sitemaps",
        "robots": "--ignore-robots",
        "deny": "--deny",
    }
    assert str(given["pages"]) == "--pages 5"


def test_an_unknown_argument_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"^delay_s: no such setting; did you mean delay\?$"):
        from_arguments({"delay_s": 1})
    with pytest.raises(UsageError, match=r"^xyz: no such setting$"):
        from_arguments({"xyz": 1})


def test_variables_of_other_names_and_empty_ones_give_nothing() -> None:
    assert from_environment({"DELAY": "1", "MINICRAWL_UNKNOWN": "x", "MINICRAWL_DELAY": " "}) == {}


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    environ = {"MINICRAWL_DELAI": "1", "MINICRAWL_DELAY": "1", "MINICRAWL_CONFIG": "x"}
    assert unknown_variables(environ, ["MINICRAWL_CONFIG"]) == [
        "MINICRAWL_DELAI: no such variable; did you mean MINICRAWL_DELAY?"
    ]


def test_a_variable_for_several_values_has_one_on_a_line() -> None:
    found = from_environment({"MINICRAWL_DENY": "a b\nc,d\n", "MINICRAWL_DELAY": "2"})
    assert found["deny"].read_as(BY_NAME["deny"]) == ("a b", "c,d")
    assert str(found["delay"]) == "MINICRAWL_DELAY=2"


def test_keys_of_a_file_are_in_sections(written: Path) -> None:
    written.write_text("[budget]\npages = 5\n[order]\nweight-internal = 0.5\n", encoding="utf-8")
    assert from_file(written) == {
        "pages": Given(5, "minicrawl.toml:budget.pages", " = "),
        "weight-internal": Given(0.5, "minicrawl.toml:order.weight-internal", " = "),
    }


SCORES = ["url:/news/", "words:sea", "words:isle", "type:application/pdf", "words:quay"]


def test_the_former_focus_settings_become_scorers(written: Path) -> None:
    """Every source accepts them for one version, and drops their strengths."""
    written.write_text(
        '[focus]\n"/news/" = 2\n[focus-words]\nsea = 1\nisle = 0.5\n', encoding="utf-8"
    )
    assert from_file(written)["score"].value == SCORES[:3]
    given: dict[str, object] = {"focus": ("/news/=2",), "focus_type": ("application/pdf",)}
    assert from_arguments(given)["score"].value == [SCORES[0], SCORES[3]]
    flags = from_flags({**given, "focus_words": (), "score": ("words:sea",)})
    assert flags["score"].value == [SCORES[1], SCORES[0], SCORES[3]]
    variables = {"MINICRAWL_FOCUS_WORDS": "sea\nisle", "MINICRAWL_FOCUS_SIMILAR": "quay"}
    assert from_environment(variables)["score"].value == [*SCORES[1:3], SCORES[4]]
    assert unknown_variables(variables) == []
    kept = from_store(Path("a.db"), {"focus": {"/news/": 2}, "focus-type": {}, "focus-only": None})
    assert {name: one.value for name, one in kept.items()} == {"score": SCORES[:1]}
    assert list(from_store(Path("a.db"), {"focus": {"a": 2}, "strategy": "greedy"})) == ["strategy"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[politeness]\ndelay_s = 1", ":politeness.delay_s: no such .*mean politeness.delay"),
        ("[budget]\ndelay = 1", ":budget.delay: no such .*mean politeness.delay"),
        ("max_depth = 1", ":max_depth: no such .*mean scope.max-depth"),
        ("[budgt]\npages = 1", ":budgt: no such .*mean budget"),
        ("xyz = 1", ":xyz: no such setting"),
        ("budget = 3", r":budget = 3: must be a section, \[budget\]"),
        ("[budget]\npages 3", r": .*\(at line 2, column 7\)"),
        ("a = 1\na = 2", r": .*\(at line 2, column 6\)"),
        (f"a = {'9' * 5000}", ": Exceeds the limit"),
    ],
)
def test_an_invalid_file_is_refused_with_the_place(written: Path, text: str, message: str) -> None:
    written.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=rf"^minicrawl\.toml{message}"):
        from_file(written)


def test_a_file_of_another_encoding_is_refused_with_the_line(written: Path) -> None:
    written.write_bytes(b"[politeness]\nagent = '\xe9'\n")
    with pytest.raises(UsageError, match=r"^minicrawl.toml: not UTF-8 \(at line 2\)$"):
        from_file(written)


@pytest.mark.parametrize(
    ("name", "why"), [("absent.toml", "No such file"), (".", "Is a directory")]
)
def test_an_unreadable_file_is_refused_with_its_name(written: Path, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: {why}"):
        from_file(written.with_name(name) if name != "." else Path(name))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "minicrawl.toml:budget.pages = true: must be a whole number above 0"),
        ([1], "minicrawl.toml:budget.pages = [1]: must be"),
        ({(1, 2): 3}, "minicrawl.toml:budget.pages = {}: must be"),
        ("9" * 100, f"minicrawl.toml:budget.pages = {'9' * 60}…: must be at most"),
    ],
)
def test_a_bad_value_is_quoted_with_its_place_and_not_at_length(value: object, shown: str) -> None:
    given = Given(value, "minicrawl.toml:budget.pages", " = ")
    with pytest.raises(UsageError) as refused:
        given.read_as(BY_NAME["pages"])
    assert str(refused.value).startswith(shown)


def test_a_setting_of_a_store_is_named_with_the_store() -> None:
    given = from_store(Path("a.db"), {"scope": "planet", "max-depth": None})
    assert given["max-depth"] == Given(None, "a.db:max-depth", " = ")
    with pytest.raises(UsageError, match=r"^a\.db:scope = planet: must be one of any, domain, "):
        given["scope"].read_as(BY_NAME["scope"])


@pytest.mark.parametrize("name", GONE)
def test_a_removed_setting_is_refused_in_each_source(name: str, written: Path) -> None:
    words = name.replace("-", "_")
    variable = f"MINICRAWL_{words.upper()}"
    written.write_text(f"[network]\n{name} = 1\n", encoding="utf-8")
    why = re.escape(f" is gone: {GONE[name].why}")
    with pytest.raises(UsageError, match=f"^{variable}{why}$"):
        from_environment({variable: "1"})
    with pytest.raises(UsageError, match=f"^{written}:network.{name}{why}$"):
        from_file(written)
    with pytest.raises(UsageError, match=f"^{words}{why}$"):
        from_arguments({words: 1})
    assert unknown_variables({variable: "1"}) == []


def test_a_store_may_have_removed_settings() -> None:
    kept = from_store(
        Path("a.db"),
        {"newborn-history": "mean", "newborn": "unit", "width": 4, "max-delay": 60, "delay": 2},
    )
    assert list(kept) == ["delay"]
    assert list(from_store(Path("a.db"), {"newborn": "host-mean"})) == ["newborn"]
    with pytest.raises(UsageError, match="newborn-histor"):
        from_store(Path("a.db"), {"newborn-histor": "mean"})
