"""Kept and skipped content is counted by type, host and outcome."""

from collections import Counter
from pathlib import Path

import httpx
import pytest

from minicrawl.cli import main
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.content_counts import ContentRow, content_rows, counts_of
from tests.cli.calls import Captured, as_json, printed
from tests.webs import crawl_web

HOST, OTHER = "http://a.example", "http://b.example"
LINKS = ("a", "b.pdf", "c.zip", "gone.docx", "secret/d.png", "moved", "video", f"{OTHER}/e.mp4")
HOME = "".join(f"<a href='{name}'>x</a>" for name in LINKS) + "<img src=pictures/f.png>"
TYPES = {".pdf": "application/pdf", ".zip": "application/zip", ".png": "image/png"}


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path in ("/", "/a"):
        return httpx.Response(200, html=HOME if path == "/" else "<p>a")
    if path == "/robots.txt":
        return httpx.Response(200, text="User-agent: *\nDisallow: /secret")
    if path == "/moved":
        return httpx.Response(301, headers={"location": "/a"})
    if path == "/video":
        return httpx.Response(200, content=b"12345", headers={"content-type": "video/mp4"})
    if path == "/gone.docx":
        return httpx.Response(404)
    kind = TYPES[path[-4:]]
    return httpx.Response(200, content=path.encode(), headers={"content-type": kind})


def crawled(path: Path, types: str, *, requisites: bool = False) -> Path:
    return crawl_web(path, answer, [HOST], types=types, requisites=requisites, scope="host")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawled(tmp_path_factory.mktemp("all") / "crawl.db", "html,files", requisites=True)


def rows(path: Path) -> dict[tuple[str, str], tuple[int, int]]:
    with snapshot(path) as seen:
        found = content_rows(seen)
    assert found is not None
    assert found == sorted(found, key=lambda row: -row.number)
    assert len({row[:3] for row in found}) == len(found)
    return {(row.type, row.outcome): (row.number, row.bytes) for row in found}


def test_each_url_counts_once_by_type_and_outcome(store: Path) -> None:
    assert rows(store) == {
        ("text/html", "kept"): (2, len(HOME) + 4),
        ("text/plain", "kept"): (1, 31),
        ("application/pdf", "kept"): (1, len("/b.pdf")),
        ("application/zip", "kept"): (1, len("/c.zip")),
        ("image/png", "kept"): (1, len("/pictures/f.png")),
        ("video/mp4", "kept"): (1, 5),
        (".docx", "not-found"): (1, 0),
        (".png", "robots"): (1, 0),
        (".mp4", "scope"): (1, 0),  # of another host, which counts first
    }
    with snapshot(store) as seen:
        hosts = Counter(row.host for row in content_rows(seen) or () for _ in range(row.number))
    assert hosts == {"a.example": 9, "b.example": 1}


def test_unrequested_file_types_count_as_skipped_by_type(path: Path) -> None:
    found = rows(crawled(path, "html"))
    skipped = {content_type for content_type, outcome in found if outcome == "type"}
    assert skipped == {".pdf", ".zip", ".docx", ".png", "video/mp4"}


def test_content_is_not_counted_without_kept_pages_or_with_too_many(
    store: Path, tmp_path: Path
) -> None:
    with snapshot(store) as seen:
        assert content_rows(seen, most=3) is None
    with snapshot(crawl_web(tmp_path / "none.db", answer, [HOST], keep="none")) as seen:
        assert content_rows(seen) is None


def test_types_beyond_the_limit_are_merged(store: Path) -> None:
    with snapshot(store) as seen:
        found = content_rows(seen, most_names=2)
    assert found is not None
    assert len({row.type for row in found}) == 3
    assert "others" in {row.type for row in found}
    assert sum(row.number for row in found) == 10


def test_counts_have_the_largest_entries_and_the_sum_of_the_others() -> None:
    found = [
        ContentRow("text/html", "a", "kept", 7, 0),
        ContentRow("image/png", "a", "kept", 3, 0),
        ContentRow(".jpg", "b", "type", 2, 0),
        ContentRow("video/mp4", "c", "kept", 1, 0),
    ]
    assert dict(counts_of(found, 2)) == {
        "kept": {"text/html": 7, "image/png": 3, "others": 1},
        "left out": {"type .jpg": 2},
        "on hosts": {"a": 10, "b": 2, "others": 1},
    }


def test_status_and_report_show_content(store: Path, capsys: Captured) -> None:
    status = ("status", "--store", store)
    shown = as_json(capsys, *status)["content"]
    assert ContentRow("video/mp4", "a.example", "kept", 1, 5)._asdict() in shown
    lines = printed(capsys, *status).splitlines()
    (kept,) = [line for line in lines if line.startswith("kept")]
    assert "text/html 2" in kept
    assert "others 1" in kept
    site = store.with_name("site.html")
    assert main(["report", str(site), "--store", str(store)]) == 0
    assert "application/zip" in site.read_text("utf-8")
