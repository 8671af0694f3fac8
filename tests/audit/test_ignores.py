"""What the owner of a site accepts is left out until the day that the file names."""

from pathlib import Path

import pytest

from minicrawl.audit.checks import is_issue
from minicrawl.audit.findings import audited
from minicrawl.audit.ignores import read_ignores
from minicrawl.cli import main
from minicrawl.errors import UsageError
from tests.audit.held_out import HOST, PARTNER, HeldOutSite
from tests.audit.test_audit import crawled


def test_pages_and_targets_are_left_out_until_the_day(tmp_path: Path) -> None:
    site = HeldOutSite()
    accepted, both = site.item(title=""), site.item(title="")
    links = [site.item(links=[f"{PARTNER}/weg"]), site.item(links=[f"{PARTNER}/weg2"])]
    site.item(body="<img src=/bilder/fehlt.png alt=a width=9>")
    path, file = crawled(tmp_path / "crawl.db", site), tmp_path / "accepted"
    file.write_text(
        "\ufeff# issue pattern until reason\n\n"  # as editors on Windows begin a file
        f"title-missing {HOST}{accepted.path} 9999-12-31 it has none yet\n"
        f"title-missing {HOST}{both.path} 2020-01-01 it has ended\n"
        f"link-dead-outside {PARTNER}/weg 9999-12-31 they restore it\n"
        f"image-missing */fehlt.png 9999-12-31 the photographer is late\n"
    )
    with audited(path, ignores=read_ignores(file, is_issue)) as audit:
        pages = {(one.issue, one.url.removeprefix(HOST)) for one in audit.pages()}
        causes = {(one.issue, one.target) for one in audit.table().causes}
    assert ("title-missing", accepted.path) not in pages
    assert ("title-missing", both.path) in pages
    assert ("link-dead-outside", links[0].path) not in pages
    assert ("link-dead-outside", links[1].path) in pages
    assert ("link-dead-outside", f"{PARTNER}/weg2") in causes
    assert not [issue for issue, _ in pages | causes if issue == "image-missing"]
    command = ["audit", "title-missing", "--store", str(path), "--fail-on", "error"]
    assert main(command) == 1
    file.write_text(f"title-missing {HOST}/archiv/* 9999-12-31 all of the archive\n")
    assert main([*command, "--ignore", str(file)]) == 0


@pytest.mark.parametrize(
    "line", ["title-missing *", "title-missing * soon a reason", "no-issue * 2099-01-01 a reason"]
)
def test_a_line_without_day_or_reason_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "accepted"
    file.write_text(line)
    with pytest.raises(UsageError, match=":1: "):
        read_ignores(file, is_issue)


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    file = tmp_path / "site.zip"
    file.write_bytes(b"PK\xbb")
    with pytest.raises(UsageError, match=r"site\.zip is not UTF-8"):
        read_ignores(file, is_issue)
