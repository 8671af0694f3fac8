"""Output formats and baselines of the command `audit`."""

import csv
import json
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest

from minicrawl.audit.facts.noted_facts import UrlKeys, note_facts
from minicrawl.audit.findings import SiteAudit
from minicrawl.audit.formats import write_junit
from minicrawl.cli import main
from minicrawl.ports import unreported
from minicrawl.report.snapshot import snapshot
from tests.audit.held_out import HOST, HeldOutSite
from tests.audit.test_audit import crawled
from tests.cli.calls import HEAVY, packages_imported_by


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = HeldOutSite()
    site.item("/untitled", title="")
    title = "=SUM(A1:A9) of <everything> & more"
    site.item("/sum", h1="<h1>=SUM(A1:A9)</h1>", title=title, description="")
    return crawled(tmp_path_factory.mktemp("audit") / "crawl.db", site)


def run(store: Path, *arguments: str) -> int:
    return main(["audit", *arguments, "--store", str(store)])


def document(store: Path, file: Path) -> dict[str, list[dict[str, object]]]:
    assert run(store, "--out", str(file)) == 0
    found: dict[str, list[dict[str, object]]] = json.loads(file.read_bytes())
    return found


def test_the_table_and_the_pages_of_an_issue(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(store) == 0
    table = capsys.readouterr().out
    assert "title-missing" in table
    assert "description-missing" in table
    assert run(store, "title-missing", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [page["url"] for page in found["pages"]] == [f"{HOST}/untitled"]
    assert run(store, "title-missing") == 0
    assert f"{HOST}/untitled" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", ["title-misspelled", "--out=report.pdf"])
def test_unknown_issues_and_formats_are_refused(
    store: Path, wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(store, wrong) == 2
    assert wrong.rpartition("=")[2] in capsys.readouterr().err


def test_a_baseline_leaves_only_new_issues(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known.json"
    whole = document(store, known)
    capsys.readouterr()
    assert run(store, "--baseline", str(known), "--json") == 0
    assert json.loads(capsys.readouterr().out)["pages"] == []
    pages = [page for page in whole["pages"] if page["issue"] != "title-missing"]
    known.write_text(json.dumps(whole | {"pages": pages}))
    assert run(store, "--baseline", str(known), "--json") == 1
    (new,) = json.loads(capsys.readouterr().out)["pages"]
    assert (new["issue"], new["url"]) == ("title-missing", f"{HOST}/untitled")
    known.write_text("[]")
    assert run(store, "--baseline", str(known)) == 2


def test_what_is_new_open_and_fixed_since_the_last_crawl_is_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = HeldOutSite()
    mended, broken, still = (site.item(title=title) for title in ("", None, ""))
    path = crawled(tmp_path / "crawl.db", site)
    assert run(path) == 0
    assert "since" not in capsys.readouterr().out
    mended.title, broken.title = None, ""
    crawled(path, site, refresh=1.0)
    for _ in range(2):  # another audit after the same crawl says the same
        assert run(path, "--json", "--fail-on", "new") == 1
        found = json.loads(capsys.readouterr().out)
        new, fixed = ([row["url"] for row in found[what]] for what in ("new", "fixed"))
        assert new == [HOST + broken.path]
        assert HOST + mended.path in fixed
        assert found["since"]["new"] == 1
        assert found["since"]["fixed"] == len(fixed)
        assert {page["url"] for page in found["pages"] if page["issue"] == "title-missing"} == {
            HOST + broken.path,
            HOST + still.path,
        }
    file = tmp_path / "site.html"
    assert main(["report", str(file), "--store", str(path)]) == 0
    assert "<b>1 new</b>" in file.read_text()


@pytest.mark.parametrize(("severity", "code"), [("error", 0), ("warning", 1)])
def test_ci_fails_on_the_chosen_severity(tmp_path: Path, severity: str, code: int) -> None:
    site = HeldOutSite()
    site.item(h1="")
    path = crawled(tmp_path / "crawl.db", site)
    assert run(path, "h1-missing", "--fail-on", severity) == code
    assert run(path, "--fail-on", "new") == 0


@pytest.mark.slow
def test_a_large_value_is_shown_in_full(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = HeldOutSite()
    site.item("/large", body="<p>" * 400_000, zipped=False)
    assert run(crawled(path, site), "page-large", "--json") == 0
    (page,) = json.loads(capsys.readouterr().out)["pages"]
    assert run(path, "page-large") == 0
    assert f" {page['value']:.0f} " in capsys.readouterr().out


def test_csv_and_workbook_have_every_page_and_no_formula(store: Path, tmp_path: Path) -> None:
    pages = document(store, tmp_path / "all.json")["pages"]
    assert run(store, "--out", str(tmp_path / "all.csv")) == 0
    with (tmp_path / "all.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["issue"], row["url"]) for row in rows] == [(p["issue"], p["url"]) for p in pages]
    assert not any(row["title"].startswith("=") for row in rows)
    assert run(store, "--out", str(tmp_path / "all.xlsx")) == 0
    with ZipFile(tmp_path / "all.xlsx") as book:
        parts = {name: ElementTree.fromstring(book.read(name)) for name in book.namelist()}
    sheet = parts["xl/sheet3.xml"]
    typed = {one.get("PartName") for one in parts["[Content_Types].xml"]}
    assert {"/xl/workbook.xml", "/xl/sheet1.xml", "/xl/sheet3.xml"} <= typed
    assert len(list(sheet.iterfind(".//{*}row"))) == len(pages) + 1
    assert not list(sheet.iterfind(".//{*}f"))
    assert any("<everything> & more" in (one.text or "") for one in sheet.iterfind(".//{*}t"))


def test_formats_for_ci_have_a_failure_per_issue(store: Path, tmp_path: Path) -> None:
    rows = document(store, tmp_path / "all.json")["issues"]
    issues = {row["issue"] for row in rows}
    failing = {row["issue"] for row in rows if row["severity"] != "notice"}
    assert issues > failing
    assert run(store, "--out", str(tmp_path / "all.xml")) == 0
    suite = ElementTree.parse(tmp_path / "all.xml").getroot()
    assert {case.get("name") for case in suite if case.find("failure") is not None} == failing
    assert int(suite.get("failures", 0)) == len(failing)
    assert run(store, "--out", str(tmp_path / "all.sarif")) == 0
    (log,) = json.loads((tmp_path / "all.sarif").read_bytes())["runs"]
    assert {result["ruleId"] for result in log["results"]} == issues
    assert issues <= {rule["id"] for rule in log["tool"]["driver"]["rules"]}


def test_names_of_checks_of_packages_are_escaped_in_junit() -> None:
    file, name = BytesIO(), 'say "cheese" & <smile>'
    unused: Any = None  # no page is written
    audit = SiteAudit(unused, findings=[], skipped=[(name, "no pages")], partial=[], read=0)
    write_junit(audit, file, None)
    assert [case.get("name") for case in ElementTree.fromstring(file.getvalue())] == [name]


def test_facts_of_pages_are_computed_once(store: Path) -> None:
    assert run(store) == 0
    with snapshot(store) as seen:
        assert note_facts(seen, UrlKeys(seen), unreported) == 0


def test_the_site_report_lists_issues_and_their_pages(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.html"
    assert main(["report", str(file), "--store", str(store)]) == 0
    text = file.read_text()
    for section in ("Issues", "Pages with issues"):
        assert f">{section} <span" in text
    assert "<td>title-missing</td>" in text
    assert "of &lt;everything&gt; &amp; more" in text


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    loaded = packages_imported_by(
        "from minicrawl.cli import main\nassert main(['audit', '--help']) == 0", folder=tmp_path
    )
    assert loaded.isdisjoint(HEAVY)
