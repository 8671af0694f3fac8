"""Text that bites, on every way from a server to a user: a crawl meets all strings of the vectors.

They stand in titles, links, names of hosts, redirects, headers and reasons of failures.
"""

import csv
import io
import json
from collections.abc import Callable
from html import escape
from pathlib import Path

import duckdb
import pytest

from minicrawl.cli import main
from minicrawl.cli.crawl_session import FORMS
from minicrawl.crawl.events import Noted
from minicrawl.model import Failed, FailureKind, Refusal, Refused, State
from minicrawl.report.selected_pages import ExportRow, PageSelection, rows
from minicrawl.report.snapshot import snapshot
from tests.crawl.fakes import NOON, Answer, Run, crawl, html, moved

Captured = pytest.CaptureFixture[str]
SharedVector = Callable[[str], Path]

A = "http://a.example"
FORMULA = tuple("=+-@\uff0b\uff1d\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b")
KINDS = [word for state in State if state >= State.ROBOTS for word in ("--kind", state.label)]
LISTS = [["top", "--n", "0"], ["frontier", "--n", "0"], ["errors", "--n", "0", *KINDS]]
COMMANDS = [*LISTS, ["top", "--sites"], ["status", "--mirrors"], ["check"], ["explain", f"{A}/t1"]]


@pytest.fixture(scope="module")
def hostile(shared_vector: SharedVector) -> list[str]:
    plain = json.loads(shared_vector("blns.json").read_text(encoding="utf-8"))
    by_kind = json.loads(shared_vector("injection_strings.json").read_text(encoding="utf-8"))
    return [*plain, *(line for kind in by_kind.values() for line in kind)]


@pytest.fixture(scope="module")
def run(hostile: list[str], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every string in a title and a header, a link, a host, a redirect, a refusal, a failure."""
    web: dict[str, Answer] = {}
    links: list[str] = []
    for number, said in enumerate(hostile):
        web |= {
            f"{A}/t{number}": html(title=escape(said), etag=said, last_modified=said),
            f"{A}/m{number}": moved(said),
            f"{A}/r{number}": Refused(reason=Refusal.TYPE, detail=said),
            f"{A}/f{number}": Failed(kind=FailureKind.TLS, detail=said),
        }
        links += [f"/{kind}{number}" for kind in "tmrf"]
        links += [escape(said), f"http://{escape(said)}.example/", f"/?q={escape(said)}"]
    web[f"{A}/"] = html(*links, title="all")
    path = tmp_path_factory.mktemp("hostile") / "crawl.db"
    # By cash they come in the order of their links: failures in a row would be strikes.
    return crawl(web, path, f"{A}/", allow=[f"^{A}/([tmrf][0-9]+)?$"], strategy="greedy")


@pytest.fixture
def pages(run: Run) -> list[ExportRow]:
    with snapshot(run.path) as seen:
        return list(rows(seen, PageSelection()))


def printed(capsys: Captured, *arguments: str, run: Run) -> str:
    assert main([*arguments, "--store", str(run.path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def steers_nothing(shown: str, also: str = "\n") -> bool:
    return all(c.isprintable() or c in "\u200c\u200d" or c in also for c in shown)


def test_titles_are_kept_as_they_are_meant(hostile: list[str], pages: list[ExportRow]) -> None:
    titles = {page.url: page.title for page in pages}
    for number, said in enumerate(hostile):
        meant = " ".join(said.replace("\0", "\ufffd").split())
        assert titles[f"{A}/t{number}"] == meant[:300].rstrip()


def test_reasons_are_kept_as_they_came(capsys: Captured, hostile: list[str], run: Run) -> None:
    found = json.loads(printed(capsys, "errors", "--n", "0", *KINDS, "--json", run=run))
    details = {page["url"]: page["detail"] for page in found["pages"]}
    for number, said in enumerate(hostile):
        assert details[f"{A}/r{number}"] == details[f"{A}/f{number}"] == said


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_lets_it_reach_the_terminal(
    capsys: Captured, run: Run, command: list[str]
) -> None:
    people = printed(capsys, *command, run=run)
    assert steers_nothing(people)
    shown = printed(capsys, *command, "--json", run=run)
    assert shown.isascii()
    assert steers_nothing(shown)
    if command[0] in ("top", "frontier"):  # no text makes a line of its own
        assert len(people.splitlines()) - len(json.loads(shown)) in (1, 2)


def test_pages_are_explained_harmlessly(capsys: Captured, run: Run) -> None:
    """A few of them, as each takes a look at the whole store."""
    for url in (f"{A}/{kind}{number}" for kind in "tmrf" for number in range(420, 450, 10)):
        assert steers_nothing(printed(capsys, "explain", url, run=run))


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl"])
def test_no_export_lets_it_reach_the_terminal(
    capsys: Captured, run: Run, pages: list[ExportRow], name: str
) -> None:
    shown = printed(capsys, "export", "-", "--format", name, run=run)
    assert steers_nothing(shown, also="\t\n" if name == "tsv" else "\n")
    assert len(shown.splitlines()) == len(pages) + (name != "jsonl")


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
def test_no_cell_is_a_formula_however_cells_are_parted(
    capsys: Captured, run: Run, name: str, delimiter: str
) -> None:
    shown = printed(capsys, "export", "-", "--format", name, run=run)
    cells = [cell for row in csv.reader(io.StringIO(shown), delimiter=delimiter) for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith(FORMULA)]


def test_programs_get_exactly_what_is_there(
    capsys: Captured, run: Run, pages: list[ExportRow], tmp_path: Path
) -> None:
    lines = printed(capsys, "export", "-", "--format", "jsonl", run=run).splitlines()
    assert [ExportRow(**json.loads(line)) for line in lines] == pages
    top = json.loads(printed(capsys, "top", "--all", "--n", "0", "--json", run=run))
    assert [(page["url"], page["title"]) for page in top] == [
        (page.url, page.title) for page in pages
    ]
    file = tmp_path / "pages.parquet"
    assert main(["export", str(file), "--store", str(run.path)]) == 0
    with duckdb.connect() as database:
        found = database.execute("SELECT url, host, title FROM read_parquet(?)", [str(file)])
        assert found.fetchall() == [(page.url, page.host, page.title) for page in pages]


@pytest.mark.parametrize("form", FORMS)
def test_no_line_of_a_log_holds_it(run: Run, hostile: list[str], form: str) -> None:
    for event in [*run.events, *(Noted(text=said) for said in hostile)]:
        line = FORMS[form](event, NOON)
        assert line is None or steers_nothing(line, also="")


def test_no_message_holds_it(capsys: Captured, hostile: list[str]) -> None:
    for said in hostile:
        assert (
            main(["explain", f"x {said}", "--store", f"no {said[:50]}.db".replace("\0", "")]) == 2
        )
        assert steers_nothing(capsys.readouterr().err)
