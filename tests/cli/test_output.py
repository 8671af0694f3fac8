"""Tables, facts, JSON and the progress of long tasks, on a terminal and elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from minicrawl.cli import main
from minicrawl.cli.output import shortened_url, show_facts, show_json, show_list, wide_option
from minicrawl.cli.progress_bar import progress
from tests.cli.calls import Captured
from tests.stores import A

OnTerminal = Callable[..., None]
Terminal = Callable[[int], None]


@pytest.fixture
def terminal(on_terminal: OnTerminal) -> Terminal:
    """Function that makes stdout a terminal of some width."""
    return lambda width: on_terminal("stdout", columns=width)


def listed(capsys: Captured, *rows: tuple[str, ...], texts: int = 2) -> list[str]:
    show_list(("rank", "url", "title"), rows, texts=texts)
    return capsys.readouterr().out.splitlines()


def test_off_a_terminal_numbers_are_aligned_and_text_is_not_cut(capsys: Captured) -> None:
    assert listed(capsys, ("1", "x" * 200, "one"), ("1,000", "y", "two")) == [
        " rank  url  title",
        f"    1  {'x' * 200}  one",
        "1,000  y  two",
    ]


def test_on_a_terminal_text_is_wrapped_and_cut(capsys: Captured, terminal: Terminal) -> None:
    terminal(42)
    url = f"http://a.example/{'x' * 30}/end"
    rows = (("1", url, "a title that is long"), ("2", "http://b.example/y", "日本語日本語"))
    assert listed(capsys, *rows) == [
        "rank  url",
        f"   1  a.example/{'x' * 26}",
        "      xxxx/end",
        "   2  b.example/y",
    ]


def test_a_wrapped_command_can_be_copied(capsys: Captured, terminal: Terminal) -> None:
    terminal(40)
    show_facts(
        [("name", "one two three four five six seven eight"), ("go", "minicrawl crawl " * 3)]
    )
    assert capsys.readouterr().out.splitlines() == [
        "name  one two three four five six seven",
        "      eight",
        "go    minicrawl crawl minicrawl crawl \\",
        "      minicrawl crawl",
    ]


def test_other_text_is_wrapped_to_a_few_lines_and_cut(capsys: Captured, terminal: Terminal) -> None:
    terminal(30)
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
    long = "https://www.site.example/a/long/path?with=query"
    for url in ("http://a.example/", long, f"x://{'h' * 99}"):
        assert len(shortened_url(url, width)) <= width
    assert shortened_url(long, 47) == "www.site.example/a/long/path?with=query"


def test_empty_columns_are_omitted_and_wide_shows_all(capsys: Captured, terminal: Terminal) -> None:
    terminal(30)

    @click.command()
    @wide_option
    def show() -> None:
        show_list(("rank", "status", "url"), [("1", "-", f"http://a.example/{'x' * 30}")], texts=1)

    show.main([], standalone_mode=False)
    shown = capsys.readouterr().out.split()
    assert shown == ["rank", "url", "1", f"a.example/{'x' * 14}", "x" * 16]
    show.main(["--wide"], standalone_mode=False)
    shown = capsys.readouterr().out.split()
    assert shown == ["rank", "status", "url", "1", "-", f"http://a.example/{'x' * 30}"]


def test_control_characters_are_escaped(capsys: Captured) -> None:
    assert listed(capsys, ("1", "\x1b[2J", "[bold]two\nlines"))[1] == (
        r"   1  \x1b[2J  [bold]two\nlines"
    )
    show_facts([("title", "\u202ereversed")])
    assert capsys.readouterr().out == "title  \\u202ereversed\n"


def test_a_host_is_shown_readably_unless_it_imitates_another(capsys: Captured) -> None:
    show_list(("n", "url"), [("1", "https://xn--mnchen-3ya.de/a")], texts=1)
    show_facts([("url", "https://xn--80ak6aa92e.com/")])
    shown = capsys.readouterr().out
    assert "https://münchen.de/a" in shown
    assert "https://xn--80ak6aa92e.com/" in shown


def test_json_is_one_line_of_printable_ascii(capsys: Captured) -> None:
    document = {"title": "\x1b\x7f\u202e日本\n"}
    show_json(document)
    line = capsys.readouterr().out
    assert line.isascii()
    assert line.rstrip("\n").isprintable()
    assert json.loads(line) == document


def test_off_a_terminal_a_line_appears_every_30_seconds(capsys: Captured) -> None:
    now = 100.0
    with progress("digging", lambda: now) as tell:
        for second in range(70):
            now = 100.0 + second
            tell(second / 100)
    assert capsys.readouterr() == ("", "digging: 30%\ndigging: 60%\n")


@pytest.mark.parametrize(("seconds", "is_shown"), [(1.0, False), (3.0, True)])
def test_on_a_terminal_a_bar_appears_after_two_seconds(
    capsys: Captured, on_terminal: OnTerminal, seconds: float, is_shown: bool
) -> None:
    on_terminal("stderr")
    now = 100.0
    with progress("digging", lambda: now) as tell:
        now += seconds
        tell(0.5)
    out, err = capsys.readouterr()
    assert (out, "digging" in err) == ("", is_shown)


WORK = [
    *(("top", "--sites"), ("explain", A), ("check",), ("backlinks", A), ("graph",)),
    *(("export", "all.csv"), ("export", "all.gexf"), ("export", "-", "--format=jsonl")),
    *(("export", "all.csv", "--edges"), ("export", "hosts.dot", "--level=host")),
    *(("rank", "pagerank"), ("rank", "communities"), ("lab", "compare", "opic", "hits-hubs")),
    ("refine", "--to=new.db"),
    ("import", "links.txt", "--store=new.db"),
]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let bars appear at once."""
    monkeypatch.setattr("minicrawl.cli.progress_bar.QUIET_S", -1.0)


@pytest.mark.usefixtures("filled", "impatient")
@pytest.mark.parametrize("command", WORK, ids=" ".join)
def test_commands_that_may_take_long_have_a_bar(
    command: tuple[str, ...], capsys: Captured, on_terminal: OnTerminal
) -> None:
    on_terminal("stderr")
    Path("links.txt").write_text("1 2\n2 3\n")
    assert main(command) == 0
    assert "%" in capsys.readouterr().err


@pytest.mark.usefixtures("filled", "impatient")
def test_rows_on_the_terminal_have_no_bar_between_them(
    capsys: Captured, on_terminal: OnTerminal
) -> None:
    on_terminal("stderr", "stdout")
    assert main(["export", "-", "--format=jsonl"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out.splitlines()[0])["rank"] == 1
    assert err == ""
