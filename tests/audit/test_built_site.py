"""A built folder is audited as a static host would serve it, in one command."""

import json
from pathlib import Path

import pytest

from minicrawl.audit.built_site import BuiltSite
from minicrawl.cli import main

PAGE = """<!doctype html><html lang=en><head><meta charset=utf-8><title>%s of the garden</title>
<meta name=viewport content="width=device-width">
<link rel=canonical href="%s"></head><body><h1>%s in the garden</h1>
<p>Words about what grows here, and when, and how much of it, and who may eat all of it, or not.
<a href="/docs/">Start</a> <a href="/docs/beds">Beds</a> <a href="/docs/tools">Tools</a>%s"""
BASE = "https://garden.example/docs/"


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "public"
    (folder / "tools").mkdir(parents=True)
    for name, path, more in (
        ("index.html", "", '\n<a href="gone">gone</a>'),
        ("beds.html", "beds", "\n\n<img src=lost.png alt=a width=1>"),
        ("tools/index.html", "tools/", ""),
    ):
        text = PAGE % (path or "Start", f"{BASE}{path}", path or "Start", more)
        (folder / name).write_text(text)
    (folder / "404.html").write_text("<title>Nothing</title>")
    (tmp_path / "secret.html").write_text("secret")
    return folder


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("", 200, "Start of"),
        ("beds", 200, "beds of"),
        ("beds.html", 200, "beds of"),
        ("tools", 301, ""),
        ("tools/", 200, "tools/ of"),
        ("gone", 404, "Nothing"),
        ("..%2fsecret", 404, "Nothing"),
        ("%2e%2e/secret.html", 404, "Nothing"),
        ("/", 200, "Start of"),
        ("/beds", 200, "beds of"),
        ("/%2e%2e" * 40, 404, "Nothing"),
    ],
)
def test_a_folder_answers_as_static_hosts_do(
    built: Path, path: str, status: int, text: str
) -> None:
    answered, _, body = BuiltSite(built, BASE).answer(f"{BASE}{path}")
    assert answered == status
    assert text in body.decode()


@pytest.mark.parametrize(
    ("path", "uri"),
    [("beds", "beds.html"), ("gone", "gone"), ("red%20bed", "red%20bed.html"), ("", "index.html")],
)
def test_a_location_is_a_relative_uri_even_of_a_missing_page(
    tmp_path: Path, path: str, uri: str
) -> None:
    """Services refuse a whole SARIF file with another scheme, or with a space."""
    for name in ("beds.html", "red bed.html"):
        (tmp_path / name).write_text("a")
    assert BuiltSite(tmp_path, BASE).location(f"{BASE}{path}") == uri


def test_other_hosts_and_folders_are_missing(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("a")
    for url in ("https://other.example/docs/", "https://garden.example/"):
        assert BuiltSite(tmp_path, BASE).answer(url)[0] == 404


def test_a_built_folder_is_audited_in_one_command_with_lines_of_its_files(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sarif = tmp_path / "a.sarif"
    command = ["audit", str(built), "--base", BASE, "--fail-on", "error", "--out", str(sarif)]
    assert main(command) == 1
    shown = capsys.readouterr().out
    assert f"link-dead  {BASE}gone" in shown
    assert "hsts-missing" not in shown
    (run,) = json.loads(sarif.read_bytes())["runs"]
    by_rule = {result["ruleId"]: result for result in run["results"]}
    places = {
        rule: by_rule[rule]["locations"][0]["physicalLocation"]
        for rule in ("link-dead", "image-missing")
    }
    assert places["link-dead"]["artifactLocation"]["uri"] == "index.html"
    assert places["link-dead"]["region"]["startLine"] == 6
    assert places["image-missing"]["artifactLocation"]["uri"] == "beds.html"
    prints = {rule: one["partialFingerprints"] for rule, one in by_rule.items()}
    (built / "beds.html").write_text((built / "beds.html").read_text().replace("<p>", "\n<p>"))
    assert main(command) == 1
    (run,) = json.loads(sarif.read_bytes())["runs"]
    assert {one["ruleId"]: one["partialFingerprints"] for one in run["results"]} == prints


def test_links_of_a_folder_to_other_sites_are_not_asked_and_that_is_said(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (built / "beds.html").open("a") as file:
        file.write("<a href=https://partner.example/>partner</a> <a href=/>home</a>")
        file.write("<script src=https://partner.example/a.js></script>")
    assert main(["audit", str(built), "--base", BASE, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    skipped = {one["issue"]: one["why"] for one in document["skipped"]}
    assert "or audit a URL" in skipped["link-dead-outside"]
    issues = ("link-dead", "script-missing")
    dead = {one["target"] for one in document["causes"] if one["issue"] in issues}
    assert dead == {f"{BASE}gone"}


def test_a_page_is_named_by_any_of_its_addresses(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The next page names index.html, which is the page / under another name."""
    for name, head, link in (
        ("index.html", "<link rel=next href=beds>", ""),
        ("beds.html", "<link rel=prev href=index.html>", "<a href=index.html>Start</a>"),
    ):
        text = (built / name).read_text()
        (built / name).write_text(text.replace("</head>", f"{head}</head>") + link)
    assert main(["audit", str(built), "--base", BASE, "--json"]) == 0
    assert "pagination-without-return" not in capsys.readouterr().out


def test_a_store_remembers_the_last_build(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", str(built), "--base", BASE, "--store", str(tmp_path / "site.db")]
    assert main([*command, "--fail-on", "new"]) == 0
    (built / "gone.html").write_text(PAGE % ("Gone", f"{BASE}gone", "Gone", "<a href=x>x</a>"))
    (built / "lost.png").write_bytes(b"x")
    capsys.readouterr()
    assert main([*command, "--fail-on", "new", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    fixed = {(one["issue"], one["url"]) for one in document["fixed"]}
    assert {("link-dead", BASE), ("image-missing", f"{BASE}beds")} <= fixed
    assert ("link-dead", f"{BASE}gone") in {(one["issue"], one["url"]) for one in document["new"]}


def test_links_of_markdown_files_are_checked(
    built: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = tmp_path / "notes"
    (notes / "more").mkdir(parents=True)
    (notes / "README.md").write_text("# Notes\n\n[more](more/a.md) and [lost](more/b.md)\n")
    (notes / "more" / "a.md").write_text("[back](../README.md)\n")
    assert main(["audit", str(notes), "--fail-on", "error"]) == 1
    assert "link-dead  http://localhost/more/b.md" in capsys.readouterr().out
    (built / "notes.md").write_text("[start](index.html) and [lost](lost.md)")
    assert main(["audit", str(built), "--base", BASE]) == 0
    assert f"link-dead  {BASE}lost.md" in capsys.readouterr().out
