"""Sources of settings: arguments, flags, variables, files and stores."""

import re
from pathlib import Path
from typing import Any

import pytest

from minicrawl.config import Settings, load
from minicrawl.config.removed import GONE
from minicrawl.config.sources import from_store, unknown_variables, unnamed_files
from minicrawl.errors import UsageError


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path("minicrawl.toml")


def test_a_flag_is_named_as_it_was_written_if_it_was() -> None:
    given = {"pages": "5", "sitemaps": True, "robots": False, "deny": ("a",), "max_depth": None}
    assert load(given, {}, None).origins.items() >= {
        ("max-depth", "default"),
        ("pages", "--pages"),
        ("sitemaps", "--sitemaps"),
        ("robots", "--ignore-robots"),
        ("deny", "--deny"),
    }


@pytest.mark.parametrize(
    ("name", "told"), [("delay_s", r"delay_s: .*mean delay\?"), ("xyz", "xyz: no such setting")]
)
def test_an_unknown_argument_is_refused_with_the_nearest(name: str, told: str) -> None:
    unknown: dict[str, Any] = {name: 1}
    with pytest.raises(UsageError, match=f"^{told}$"):
        Settings.of(**unknown)


def test_variables_of_other_names_and_empty_ones_give_nothing() -> None:
    environ = {"DELAY": "3", "MINICRAWL_UNKNOWN": "x", "MINICRAWL_DELAY": " "}
    assert load({}, environ, None).settings == Settings()


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    environ = {"MINICRAWL_DELAI": "1", "MINICRAWL_DELAY": "1", "MINICRAWL_CONFIG": "x"}
    (line,) = unknown_variables(environ, ["MINICRAWL_CONFIG"])
    assert re.fullmatch("MINICRAWL_DELAI: .* MINICRAWL_DELAY[?]", line)


def test_a_variable_for_several_values_has_one_on_a_line() -> None:
    found = load({}, {"MINICRAWL_DENY": "a b\nc,d\n"}, None)
    assert found.settings.scope.deny == ("a b", "c,d")


SCORES = ("url:/news/", "words:sea", "words:isle", "type:application/pdf", "words:quay")


def test_the_former_focus_settings_become_scorers(written: Path) -> None:
    """Every source accepts them for one version, and drops their strengths."""
    written.write_text('[focus]\n"/news/" = 2\n[focus-words]\nsea = 1\nisle = 0.5\n', "utf-8")
    given: dict[str, Any] = {"focus": ("/news/=2",), "focus_type": ("application/pdf",)}
    flags = {**given, "focus_words": (), "score": ("words:sea",)}
    variables = {"MINICRAWL_FOCUS_WORDS": "sea\nisle", "MINICRAWL_FOCUS_SIMILAR": "quay"}
    for settings, scores in (
        (load({}, {}, written).settings, SCORES[:3]),
        (Settings.of(**given), (SCORES[0], SCORES[3])),
        (load(flags, {}, None).settings, (SCORES[1], SCORES[0], SCORES[3])),
        (load({}, variables, None).settings, (*SCORES[1:3], SCORES[4])),
    ):
        assert settings.order.score == scores
    assert unknown_variables(variables) == []
    kept = from_store(Path("a.db"), {"focus": {"/news/": 2}, "focus-type": {}, "focus-only": None})
    assert {name: one.value for name, one in kept.items()} == {"score": [SCORES[0]]}
    assert list(from_store(Path("a.db"), {"focus": {"a": 2}, "strategy": "greedy"})) == ["strategy"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[politeness]\ndelay_s = 1", ":politeness.delay_s: no such .*mean politeness.delay"),
        ("[budget]\ndelay = 1", ":budget.delay: no such .*mean politeness.delay"),
        ("max_depth = 1", ":max_depth: no such .*mean scope.max-depth"),
        ("[budgt]\npages = 1", ":budgt: no such .*mean budget"),
        ("xyz = 1", ":xyz: no such setting"),
        ("budget = 3", r":budget = 3: .*\[budget\]"),
        ("[budget]\npages 3", r": .*\(at line 2, column 7\)"),
        ("a = 1\na = 2", r": .*\(at line 2, column 6\)"),
        (f"a = {'9' * 5000}", ": Exceeds the limit"),
        ("[politeness]\nagent = '\udce9'\n", r": not UTF-8 \(at line 2\)$"),
    ],
)
def test_an_invalid_file_is_refused_with_the_place(written: Path, text: str, message: str) -> None:
    written.write_text(text, "utf-8", "surrogateescape")
    with pytest.raises(UsageError, match=rf"^minicrawl\.toml{message}"):
        load({}, {}, written)


def test_files_that_no_option_names_are_those_of_the_folder_and_the_user(
    written: Path, tmp_path: Path
) -> None:
    """The folder's own file stands in for that of its project, and is stronger than the user's."""
    of_user = tmp_path / "home" / "minicrawl" / "config.toml"
    of_user.parent.mkdir(parents=True)
    of_user.write_text("[budget]\npages = 1\n[politeness]\ncontact = 'me@a.example'\n", "utf-8")
    Path("pyproject.toml").write_text("[tool.minicrawl.budget]\npages = 2\n", "utf-8")
    variables = {"XDG_CONFIG_HOME": str(tmp_path / "home")}

    def pages() -> tuple[object, str]:
        loaded = load({}, {}, None, *unnamed_files(variables), is_file_named=False)
        assert loaded.settings.politeness.contact == "me@a.example"
        return loaded.settings.budget.pages, loaded.origins["pages"]

    assert pages() == (2, "pyproject.toml:tool.minicrawl.budget.pages")
    written.write_text("[budget]\npages = 3\n", "utf-8")
    assert pages() == (3, "minicrawl.toml:budget.pages")
    written.write_text("", "utf-8")
    assert pages() == (1, f"{of_user}:budget.pages")
    of_user.unlink()
    assert unnamed_files({"HOME": str(tmp_path)}) == [Path("minicrawl.toml")]


@pytest.mark.usefixtures("written")
def test_a_project_without_settings_of_ours_is_left_alone() -> None:
    Path("pyproject.toml").write_text("[tool.other\n", "utf-8")
    assert unnamed_files({}) == []


@pytest.mark.usefixtures("written")
def test_no_file_of_these_may_run_programs() -> None:
    Path("pyproject.toml").write_text("[tool.minicrawl.render]\nbrowser = '/bin/sh'\n", "utf-8")
    loaded = load({}, {}, None, *unnamed_files({}), is_file_named=False)
    assert loaded.ignored == {"browser": "pyproject.toml:tool.minicrawl.render.browser"}


@pytest.mark.parametrize(
    ("name", "why"), [("absent.toml", "No such file"), (".", "Is a directory")]
)
@pytest.mark.usefixtures("written")
def test_an_unreadable_file_is_refused_with_its_name(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: {why}"):
        load({}, {}, Path(name))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (True, "pages=true: "),
        ([1], "pages=[1]: "),
        ({(1, 2): 3}, "pages={}: "),
        ("9" * 100, f"pages={'9' * 60}…: "),
    ],
)
def test_a_bad_value_is_quoted_and_not_at_length(value: Any, shown: str) -> None:
    with pytest.raises(UsageError) as refused:
        Settings.of(pages=value)
    assert str(refused.value).startswith(shown)


@pytest.mark.parametrize("name", GONE)
def test_a_removed_setting_is_refused_in_each_source(name: str, written: Path) -> None:
    words = name.replace("-", "_")
    removed: dict[str, Any] = {words: 1}
    variable = f"MINICRAWL_{words.upper()}"
    written.write_text(f"[network]\n{name} = 1\n", encoding="utf-8")
    why = re.escape(f" is gone: {GONE[name].why}")
    with pytest.raises(UsageError, match=f"^{variable}{why}$"):
        load({}, {variable: "1"}, None)
    with pytest.raises(UsageError, match=f"^{written}:network.{name}{why}$"):
        load({}, {}, written)
    with pytest.raises(UsageError, match=f"^{words}{why}$"):
        Settings.of(**removed)
    assert unknown_variables({variable: "1"}) == []


def test_a_store_may_have_removed_settings() -> None:
    kept = {"newborn-history": "mean", "newborn": "unit", "width": 4, "max-delay": 60, "delay": 2}
    assert list(from_store(Path("a.db"), kept)) == ["delay"]
    assert list(from_store(Path("a.db"), {"newborn": "host-mean"})) == ["newborn"]
    with pytest.raises(UsageError, match="newborn-histor"):
        from_store(Path("a.db"), {"newborn-histor": "mean"})
