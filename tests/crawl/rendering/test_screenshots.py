"""With --screenshots the archive has what a rendered page looked like, as browsertrix keeps it."""

from base64 import b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from minicrawl.demo.pages import DemoResponse
from tests.cli.calls import Captured, as_json, printed, refusal
from tests.crawl.rendering.sites import crawled, needs_browser, page, script, served

STYLE = """body { margin: 0; background: #00f } .odd { background: url(/tile.png) }
#tall { height: 4000px }"""
RED, GREEN = (255, 0, 0), (0, 128, 0)


def picture(color: tuple[int, int, int]) -> DemoResponse:
    file = BytesIO()
    Image.new("RGB", (100, 100), color).save(file, "png")
    return DemoResponse(200, {"Content-Type": "image/png"}, file.getvalue())


SITE = {
    "/": page(
        "<!doctype html><title>home</title><link rel=stylesheet href=/s.css><img src=/red.png>"
        "<a href=/app>app</a><div id=tall></div>"
    ),
    "/app": page(
        "<!doctype html><title>app</title><link rel=stylesheet href=/s.css>"
        "<div id=made></div><script src=/app.js></script>"
    ),
    "/app.js": script("made.className = 'odd'; made.style.height = '50px';"),
    "/s.css": DemoResponse(200, {"Content-Type": "text/css"}, STYLE.encode()),
    "/red.png": picture(RED),
    "/tile.png": picture(GREEN),
}


def resources(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    for file in sorted(folder.glob("*.warc.gz")):
        with file.open("rb") as raw:
            for record in ArchiveIterator(raw):
                if record.rec_type == "resource":
                    fields = record.rec_headers
                    kind = fields.get_header("Content-Type")
                    yield fields.get_header("WARC-Target-URI"), kind, record.content_stream().read()


@needs_browser
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_rendered_page_is_kept_as_it_looked(tmp_path: Path, capsys: Captured) -> None:
    store, warcs, file = tmp_path / "c.db", tmp_path / "warcs", tmp_path / "picture"
    with served(SITE) as (web, origin):
        kept: dict[str, Any] = {"render": "always", "requisites": True, "warc": warcs}
        crawled(f"{origin}/", store, screenshots=True, **kept)
    asked = [path for path in web.paths if path in SITE]
    assert sorted(asked) == sorted(SITE)  # a file that was drawn is not requested again
    drawn = {name: (kind, body) for name, kind, body in resources(warcs)}
    beginnings = ("urn:view:", "urn:fullPage:")
    names = {f"{start}{origin}{path}" for path in ("/", "/app") for start in beginnings}
    assert drawn.keys() == names
    assert {kind for kind, _ in drawn.values()} == {"image/png"}
    view, whole, app = (
        Image.open(BytesIO(drawn[f"urn:{name}"][1])).convert("RGB")
        for name in (f"view:{origin}/", f"fullPage:{origin}/", f"view:{origin}/app")
    )
    assert view.width == whole.width == 1280
    assert whole.height > 4000 > view.height
    colors = [view.getpixel((50, 50)), app.getpixel((900, 25)), view.getpixel((900, 900))]
    assert colors == [RED, GREEN, (0, 0, 255)]

    # A reader of the store gets them, in a replay, too, and in what is exported and imported.
    printed(capsys, "page", f"{origin}/", "--screenshot", str(file), "--store", str(store))
    assert file.read_bytes() == drawn[f"urn:fullPage:{origin}/"][1]
    report, package, copy = tmp_path / "qa.html", tmp_path / "c.wacz", tmp_path / "copy.db"
    rows = as_json(capsys, "archive", "--qa", str(report), "--store", str(store))
    assert [row["picture"] for row in rows] == [1.0, 1.0]
    assert b64encode(drawn[f"urn:view:{origin}/app"][1]).decode() in report.read_text()
    printed(capsys, "export", str(package), "--store", str(store))
    printed(capsys, "import", str(package), "--store", str(copy))
    for place in (package, warcs):
        assert as_json(capsys, "archive", "--verify", str(place))["ok"]
    printed(capsys, "page", f"{origin}/app", "--screenshot", str(file), "--store", str(copy))
    assert file.read_bytes() == drawn[f"urn:fullPage:{origin}/app"][1]

    # A page that is taken down takes its pictures along, and no others.
    def kept_records() -> int:
        facts = as_json(capsys, "archive", "--store", str(store))
        return sum(count for name, count in facts.items() if name.endswith("records"))

    before = kept_records()
    said = "minicrawl: pages that link there keep their own texts\n"
    with_files = ("--archives", str(warcs), "--store", str(store))
    printed(capsys, "forget", f"{origin}/app", *with_files, said=said)
    assert {name for name, _, _ in resources(warcs)} == {f"{name}{origin}/" for name in beginnings}
    assert as_json(capsys, "archive", "--verify", str(warcs))["ok"]
    assert kept_records() == before - len(("response", "dom", *beginnings))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ((), "--screenshots needs --render"),
        (("--render", "auto", "--keep", "text"), "--screenshots needs --keep pages or --warc"),
    ],
)
def test_pictures_need_rendering_and_an_archive(
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    reason: str,
) -> None:
    monkeypatch.setenv("PATH", "")  # options are checked before a browser is looked for
    store = str(tmp_path / "c.db")
    said = refusal(capsys, "crawl", "http://a.example", "--screenshots", *options, "--store", store)
    assert reason in said
