"""`minicrawl config show`: each value, where it came from, and a file to start from."""

import json
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cli.common.options import CONFIG_VARIABLE
from minicrawl.config import load
from minicrawl.config.table import TABLE

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def plain_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in [CONFIG_VARIABLE, *(setting.variable for setting in TABLE)]:
        monkeypatch.delenv(variable, raising=False)


def shown(capsys: Captured, *arguments: str) -> str:
    assert main(["config", "show", *arguments]) == 0
    return capsys.readouterr().out


def test_each_value_is_shown_with_where_it_came_from(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("minicrawl.toml").write_text("[scope]\nmax-depth = 3\n", encoding="utf-8")
    monkeypatch.setenv("MINICRAWL_DELAY", "2")
    found = json.loads(shown(capsys, "--json", "--pages", "5"))
    assert found["budget.pages"] == {"value": 5, "from": "--pages"}
    assert found["politeness.delay"] == {"value": 2, "from": "MINICRAWL_DELAY"}
    assert found["scope.max-depth"] == {"value": 3, "from": "minicrawl.toml:scope.max-depth"}
    assert found["order.width"] == {"value": 8, "from": "default"}


def test_what_is_shown_is_a_file_that_gives_the_same_settings(capsys: Captured) -> None:
    chosen = ["--pages", "5", "--focus", "/news/=2", "--no-links", "--contact", "me@example.org"]
    written = Path("minicrawl.toml")
    written.write_text(shown(capsys, *chosen), encoding="utf-8")
    assert (
        load({}, {}, written).settings
        == load(
            {"pages": 5, "focus": {"/news/": 2}, "links": False, "contact": "me@example.org"},
            {},
            None,
        ).settings
    )


def test_trouble_in_the_file_is_one_line_and_exit_2(capsys: Captured) -> None:
    Path("minicrawl.toml").write_text("[budget]\npages = \n", encoding="utf-8")
    assert main(["config", "show"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "minicrawl: minicrawl.toml: Invalid value (at line 2, column 9)\n"
