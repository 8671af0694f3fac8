import json
import sys

import click
import pytest

from minicrawl.cli.output import (
    shortened_url,
    show_facts,
    show_json,
    show_list,
    wide_option,
)

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
    url = f"http://a.example/{'x' * 30}/end"
    rows = (("1", url, "a title that is long"), ("2", "http://b.example/y", "日本語日本語"))
    assert listed(capsys, *rows) == [
        "rank  url",
        f"   1  a.example/{'x' * 26}",
        "      xxxx/end",
        "   2  b.example/y",
    ]


def test_a_title_has_the_room_that_urls_leave(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 30)
    rows = (("1", "http://a.example/", "a title that is long"), ("2", "b", "日本語日本語"))
    assert listed(capsys, *rows) == [
        "rank  url         title",
        "   1  a.example/  a title tha…",
        "   2  b           日本語日本語",
    ]


def test_a_very_long_url_is_cut_in_its_path(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 26)
    url = f"http://a.example/{'x' * 90}/end?page=7"
    assert listed(capsys, ("1", url, "a title"))[1:] == [
        f"   1  a.example/…{'x' * 9}",
        f"      {'x' * 20}",
        "      xxxxxxxxx/end?page=7",
    ]


def test_columns_share_what_is_too_little_for_all(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 60)
    url = f"http://a.example/{'x' * 15}/{'y' * 15}"
    show_list(("state", "url", "text", "end"), [("fetched", url, "short", url[:33])], texts=3)
    assert capsys.readouterr().out.splitlines() == [
        "  state  url                           text   end",
        "fetched  a.example/xxxxxxxxxxxxxxx/    short  a.example/",
        "         yyyyyyyyyyyyyyy                      xxxxxxxxxxxxxx",
        "                                              x/",
    ]


def test_a_list_may_have_numbers_only(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    show_list(("depth", "status"), [("1", "200")], texts=0)
    on_a_terminal(monkeypatch, 60)
    show_list(("depth", "status"), [("1", "200")], texts=0)
    assert capsys.readouterr().out.splitlines() == ["depth  status", "    1     200"] * 2


def test_a_long_command_can_be_copied_from_a_narrow_terminal(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 40)
    show_facts(
        [("name", "one two three four five six seven eight"), ("go", "minicrawl crawl " * 3)]
    )
    assert capsys.readouterr().out.splitlines() == [
        "name  one two three four five six seven",
        "      eight",
        "go    minicrawl crawl minicrawl crawl \\",
        "      minicrawl crawl",
    ]


def test_other_text_goes_on_in_the_next_line_for_a_while(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 30)
    show_list(("rank", "detail"), [("1", "one two three four five six"), ("2", "x " * 99)], texts=1)
    assert capsys.readouterr().out.splitlines() == [
        "rank  detail",
        "   1  one two three four five",
        "      six",
        *(f"{start}  x x x x x x x x x x x x" for start in ("   2", "    ", "    ")),
        "      x x x x x x x x x x x x…",
    ]


@pytest.mark.parametrize("width", range(3, 50))
def test_a_url_is_shortened_to_any_width(width: int) -> None:
    for url in (
        "http://a.example/",
        "https://www.site.example/a/long/path?with=query",
        f"x://{'h' * 99}",
    ):
        assert len(shortened_url(url, width)) <= width
    whole = shortened_url("https://www.site.example/a/long/path?with=query", 47)
    assert whole == "www.site.example/a/long/path?with=query"


def test_columns_without_a_number_are_left_out_and_wide_shows_all(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_a_terminal(monkeypatch, 30)

    @click.command()
    @wide_option
    def show() -> None:
        show_list(("rank", "status", "url"), [("1", "-", f"http://a.example/{'x' * 30}")], texts=1)

    show.main([], standalone_mode=False)
    assert capsys.readouterr().out.split() == [
        "rank",
        "url",
        "1",
        "a.example/" + "x" * 14,
        "x" * 16,
    ]
    show.main(["--wide"], standalone_mode=False)
    shown = capsys.readouterr().out.split()
    assert shown == ["rank", "status", "url", "1", "-", f"http://a.example/{'x' * 30}"]


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
    url = f"http://a.example/{'x' * 50}"
    assert listed(capsys, ("1", url, "a title"))[1] == f"   1  a.example/{'x' * 14}"
    on_a_terminal(monkeypatch, 3)
    assert listed(capsys, ("1", url, "a title"))[1] == "   1  a.example/"


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
