import json
import sys

import pytest

from minicrawl.cli.common.tables import show_facts, show_json, show_list

Captured = pytest.CaptureFixture[str]


def on_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)


def listed(capsys: Captured, *rows: tuple[str, ...], texts: int = 2) -> list[str]:
    show_list(("rank", "url", "title"), rows, texts=texts)
    return capsys.readouterr().out.splitlines()


def test_numbers_are_aligned_and_text_is_left_as_it_is(capsys: Captured) -> None:
    assert listed(capsys, ("1", "x" * 200, "one"), ("1,000", "y", "two")) == [
        " rank  url  title",
        f"    1  {'x' * 200}  one",
        "1,000  y  two",
    ]


def test_on_a_terminal_text_is_cut_to_its_width(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 42)
    assert listed(capsys, ("1", "x" * 50, "a title that is long"), ("2", "y", "日本語日本語")) == [
        "rank  url                       title",
        "   1  xxxxxxxxxxxxxxxxxxxxxxx…  a title t…",
        "   2  y                         日本語日 …",
    ]


def test_a_short_column_leaves_its_room_to_the_last(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 30)
    assert listed(capsys, ("1", "y", "a title of some length")) == [
        "rank  url  title",
        "   1  y    a title of some le…",
    ]


def test_a_terminal_without_room_for_two_columns_of_text_shows_one(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 30)
    assert listed(capsys, ("1", "x" * 50, "a title"))[1] == f"   1  {'x' * 23}…"
    on_a_terminal(monkeypatch, 3)
    assert listed(capsys, ("1", "x" * 50, "a title"))[1] == f"   1  {'x' * 9}…"


def test_control_characters_are_shown_and_never_printed(capsys: Captured) -> None:
    assert listed(capsys, ("1", "\x1b[2J", "[bold]two\nlines"))[1] == (
        r"   1  \x1b[2J  [bold]two\nlines"
    )
    show_facts([("title", "\u202ereversed")])
    assert capsys.readouterr().out == "title  \\u202ereversed\n"


def test_json_is_one_line_of_plain_signs_and_says_the_same(capsys: Captured) -> None:
    document = {"title": "\x1b\x7f\u202e日本\n"}
    show_json(document)
    line = capsys.readouterr().out
    assert line.isascii()
    assert line.rstrip("\n").isprintable()
    assert json.loads(line) == document
