"""Hostile text on each way from a server to a user: a crawl meets all strings of the vectors.

They are in titles, links, names of hosts, redirects, headers and reasons of failures.
"""

import csv
import io
import json
from collections.abc import Callable
from html import escape
from pathlib import Path

import duckdb
import pytest

from minicrawl import Noted
from minicrawl.cli import main
from minicrawl.cli.crawl.logs import FORMS
from minicrawl.model import Failed, Refused
from minicrawl.report.selected_pages import ExportRow, PageSelection, rows
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from tests.cli.calls import Captured
from tests.crawl.fakes import Answer, Run, crawl, html, moved
from tests.crawl.jumping_clock import NOON

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
    """Crawl with each string in a title, header, link, host, redirect, refusal and failure."""
    web: dict[str, Answer] = {}
    links: list[str] = []
    for number, said in enumerate(hostile):
        web |= {
            f"{A}/t{number}": html(title=escape(said), etag=said, last_modified=said),
            f"{A}/m{number}": moved(said),
            f"{A}/r{number}": Refused(reason=State.TYPE, detail=said),
            f"{A}/f{number}": Failed(kind=State.TLS, detail=said),
        }
        links += [f"/{kind}{number}" for kind in "tmrf"]
        links += [escape(said), f"http://{escape(said)}.example/", f"/?q={escape(said)}"]
    web[f"{A}/"] = html(*links, title="all")
    path = tmp_path_factory.mktemp("hostile") / "crawl.db"
    # The order of cash is that of the links; failures in a row would be strikes against the host.
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


def is_harmless(shown: str, also: str = "\n") -> bool:
    return all(c.isprintable() or c in "\u200c\u200d" or c in also for c in shown)


@pytest.mark.slow
def test_titles_are_stored_normalised_and_cut(hostile: list[str], pages: list[ExportRow]) -> None:
    titles = {page.url: page.title for page in pages}
    for number, said in enumerate(hostile):
        meant = " ".join(said.replace("\0", "\ufffd").split())
        assert titles[f"{A}/t{number}"] == meant[:300].rstrip()


def test_reasons_are_stored_unchanged(capsys: Captured, hostile: list[str], run: Run) -> None:
    found = json.loads(printed(capsys, "errors", "--n", "0", *KINDS, "--json", run=run))
    details = {page["url"]: page["detail"] for page in found["pages"]}
    for number, said in enumerate(hostile):
        assert details[f"{A}/r{number}"] == details[f"{A}/f{number}"] == said


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_output_has_no_control_characters(capsys: Captured, run: Run, command: list[str]) -> None:
    people = printed(capsys, *command, run=run)
    assert is_harmless(people)
    shown = printed(capsys, *command, "--json", run=run)
    assert shown.isascii()
    assert is_harmless(shown)
    if command[0] in ("top", "frontier"):  # no text makes an additional line
        assert len(people.splitlines()) - len(json.loads(shown)) in (1, 2)


@pytest.mark.parametrize("name", ["csv", "tsv", "jsonl"])
def test_no_export_prints_control_characters(
    capsys: Captured, run: Run, pages: list[ExportRow], name: str
) -> None:
    shown = printed(capsys, "export", "-", "--format", name, run=run)
    assert is_harmless(shown, also="\t\n" if name == "tsv" else "\n")
    assert len(shown.splitlines()) == len(pages) + (name != "jsonl")


@pytest.mark.parametrize(("name", "delimiter"), [("csv", ","), ("tsv", "\t"), ("csv", ";")])
def test_no_cell_is_a_formula_with_any_delimiter(
    capsys: Captured, run: Run, name: str, delimiter: str
) -> None:
    shown = printed(capsys, "export", "-", "--format", name, run=run)
    cells = [cell for row in csv.reader(io.StringIO(shown), delimiter=delimiter) for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith(FORMULA)]


def test_exact_formats_have_the_stored_text(
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
def test_no_line_of_a_log_has_control_characters(run: Run, hostile: list[str], form: str) -> None:
    for event in [*run.events, *(Noted(text=said) for said in hostile)]:
        line = FORMS[form](event, NOON)
        assert line is None or is_harmless(line, also="")


def test_no_message_has_control_characters(capsys: Captured, hostile: list[str]) -> None:
    for said in hostile:
        store = f"no {said[:50]}.db".replace("\0", "")
        assert main(["explain", f"x {said}", "--store", store]) == 2
        assert is_harmless(capsys.readouterr().err)
