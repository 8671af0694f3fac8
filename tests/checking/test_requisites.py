"""Page requisites are requested once and politely, kept with their pages, and exported."""

import asyncio
import gzip
import json
import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import httpx
import pytest

from minicrawl import Crawl, Settings, Store
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import Answer
from minicrawl.checking import links, requisites
from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.content_counts import content_rows
from minicrawl.store import tables
from minicrawl.store.reader import archive_folder
from tests.webs import crawl_web

Captured = pytest.CaptureFixture[str]

HOST, CDN = "http://a.example", "http://cdn.example"
HOME = (
    f'<link rel=stylesheet href="{CDN}/s.css"><img src=/logo.png srcset="/big.png 2x">'
    "<img src=/lost.png><script src=/old.js></script><a href=/page>page</a>"
    f'<img src="{CDN}/secret/x.png"><img src="http://10.0.0.1/inside.png"><img src=/page>'
)
PAGES = {f"{HOST}/": HOME, f"{HOST}/page": "<p>Another page <img src=/logo.png>"}
ROBOTS = b"User-agent: *\nDisallow: /secret"
STYLES = {
    f"{CDN}/s.css": "@import 'deep/t.css'; body { background: url(/pond.png) }",
    f"{CDN}/deep/t.css": "@font-face { src: url(../duck.woff2) } @import '/s.css';",
}
FILES = {
    f"{HOST}/logo.png": b"\x89PNG",
    f"{HOST}/big.png": b"\x89PNG" * 2,
    f"{HOST}/new.js": b"go()",
    f"{CDN}/pond.png": b"\x89PNG",
    f"{CDN}/duck.woff2": b"wOF2",
}


class Web:
    """Site with a host for its requisites; counts requests."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        self.asked[url] += 1
        if url in PAGES:
            return httpx.Response(200, html=PAGES[url])
        if url == f"{HOST}/old.js":
            return httpx.Response(302, headers={"location": "/new.js"})
        if url in STYLES:
            return httpx.Response(200, text=STYLES[url], headers={"content-type": "text/css"})
        content = FILES.get(url, ROBOTS if url == f"{CDN}/robots.txt" else None)
        return httpx.Response(404 if content is None else 200, content=content)


def crawled(path: Path, web: Web, **chosen: Any) -> Path:
    usual: dict[str, Any] = {"keep": "pages", "requisites": True, "scope": "host"}
    return crawl_web(path, web, [HOST], **(usual | chosen))


def kept(path: Path) -> dict[str, Answer]:
    with snapshot(path) as seen:
        end = tables.archive_end(seen.connection)
    with closing(ArchiveReader(archive_folder(path), end)) as archive:
        rows = [row for row in archive.index.rows(archive.end) if row.key]
        answers = [archive.answer(row.place) for row in rows]
        return {answer.url: answer for answer in answers}


class TestKeeping:
    @pytest.fixture(scope="class")
    def web(self) -> Web:
        return Web()

    @pytest.fixture(scope="class")
    def path(self, web: Web, tmp_path_factory: pytest.TempPathFactory) -> Path:
        return crawled(tmp_path_factory.mktemp("requisites") / "crawl.db", web)

    def test_images_scripts_styles_and_their_requisites_are_kept(self, path: Path) -> None:
        answers = kept(path)
        rules = {f"{HOST}/robots.txt", f"{CDN}/robots.txt"}
        files = STYLES.keys() | FILES.keys() | {f"{HOST}/old.js"}
        assert answers.keys() == PAGES.keys() | files | rules | {f"{HOST}/lost.png"}
        assert all(answers[url].body == body for url, body in FILES.items())
        assert answers[f"{HOST}/old.js"].status == 302
        assert answers[f"{HOST}/lost.png"].status == 404

    def test_a_missing_requisite_is_no_kept_content(self, path: Path) -> None:
        with snapshot(path) as seen:
            rows = content_rows(seen)
        assert rows is not None
        (lost,) = [row for row in rows if row.outcome == "not-found"]
        assert (lost.type, lost.number) == (".png", 1)

    def test_each_is_requested_once_unless_robots_txt_forbids_it(
        self, path: Path, web: Web
    ) -> None:
        assert set(web.asked.values()) == {1}
        assert not any("secret" in url or "10.0.0.1" in url for url in web.asked)
        assert main(["check", "--store", str(path)]) == 0
        with Store.open(path) as store:
            found = {(link.target, link.state) for link in store.broken_links()}
        assert found == {
            (f"{HOST}/lost.png", "not-found"),
            ("http://10.0.0.1/inside.png", "address"),
        }

    def test_requisites_are_in_web_archives_but_not_listed_as_pages(
        self, path: Path, tmp_path: Path
    ) -> None:
        urls, pages = exported(path, tmp_path / "site.wacz")
        assert sorted(urls) == sorted(kept(path))
        assert pages == PAGES.keys()

    def test_a_requisite_can_be_shown_like_a_page(self, path: Path, capsys: Captured) -> None:
        store = ["--store", str(path)]
        assert main(["page", f"{CDN}/s.css", *store]) == 0
        assert capsys.readouterr().out.splitlines() == [STYLES[f"{CDN}/s.css"]]
        assert main(["page", f"{HOST}/old.js", "--headers", *store]) == 0
        assert "location: /new.js" in capsys.readouterr().out
        assert main(["page", f"{CDN}/duck.woff2", "--versions", "--json", *store]) == 0
        assert json.loads(capsys.readouterr().out)[0]["bytes"] == 4
        assert main(["page", f"{HOST}/nothing.png", *store]) == 2
        assert "nothing.png" in capsys.readouterr().err

    def test_an_export_of_the_best_pages_and_pruning_to_them_keep_what_they_need(
        self, path: Path, tmp_path: Path
    ) -> None:
        copy = shutil.copytree(path.parent, tmp_path / "copy") / path.name
        urls, pages = exported(copy, tmp_path / "best.wacz", "--n", "1")
        assert len(pages) == 1
        assert {f"{HOST}/logo.png", f"{HOST}/robots.txt", *pages} <= set(urls)
        assert (f"{CDN}/s.css" in urls) is (f"{HOST}/" in pages)
        assert main(["forget", "--best", "1", "--store", str(copy)]) == 0
        assert kept(copy).keys() == set(urls)
        assert main(["archive", "--verify", "--store", str(copy)]) == 0

    def test_kept_requisites_are_not_requested_again(self, path: Path) -> None:
        before, again = kept(path), Web()
        crawled(path, again)
        assert not again.asked
        assert kept(path).keys() == before.keys()


def exported(path: Path, file: Path, *options: str) -> tuple[list[str], set[str]]:
    """Export a web archive, and return the URLs of its records and of its pages."""
    assert main(["export", str(file), *options, "--store", str(path)]) == 0
    with ZipFile(file) as package:
        lines = package.read("indexes/index.cdx").decode().splitlines()
        pages = package.read("pages/pages.jsonl").decode().splitlines()
    urls = [json.loads(line.split(" ", 2)[2])["url"] for line in lines]
    return urls, {json.loads(line)["url"] for line in pages[1:]}


def test_a_resumed_crawl_keeps_requisites(tmp_path: Path) -> None:
    path = crawled(tmp_path / "crawl.db", Web(), pages=1)
    with snapshot(path) as seen:
        assert tables.settings(seen.connection)["requisites"] is True
    assert f"{HOST}/logo.png" in kept(crawl_web(path, Web(), [], keep="pages"))


def test_a_missing_requisite_is_requested_again_when_its_failure_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, web = crawled(tmp_path / "crawl.db", Web()), Web()
    for module in (links, requisites):
        monkeypatch.setattr(module, "VALID_S", 0.0)
    crawled(path, web)
    assert web.asked == {f"{HOST}/lost.png": 1}


def test_a_film_of_a_page_is_kept_whole_up_to_max_file(tmp_path: Path) -> None:
    film = bytes(range(256)) * 50_000  # longer than --max-body
    limit = len(film) + 1

    def answer(request: httpx.Request) -> httpx.Response:
        name = request.url.path[1:]
        if not name:
            return httpx.Response(200, html="<video src=film.mp4></video><video src=long.mp4>")
        return httpx.Response(200, content=film if name == "film.mp4" else film * 2)

    path, warcs = tmp_path / "crawl.db", tmp_path / "warcs"
    chosen: dict[str, Any] = {"requisites": True, "robots": False, "max_file": limit}
    crawl_web(path, answer, [HOST], warc=warcs, **chosen)
    answers = kept(path)
    whole, cut = answers[f"{HOST}/film.mp4"], answers[f"{HOST}/long.mp4"]
    assert (whole.body, whole.cut) == (film, "")
    assert cut.body == (film * 2)[:limit]
    assert cut.cut == f"cut after {limit:,} bytes: --max-file"
    (file,) = warcs.glob("*.warc.gz")
    assert gzip.decompress(file.read_bytes()).count(film) == 2


def test_a_style_longer_than_max_body_is_kept_and_not_read(tmp_path: Path) -> None:
    short = "a { src: url(short.png) }"
    styles = {"/long.css": f"{short * 9} b {{ src: url(long.png) }}", "/short.css": short}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/":
            links = "".join(f"<link rel=stylesheet href={style}>" for style in styles)
            return httpx.Response(200, html=links)
        kind = {"content-type": "text/css"} if request.url.path in styles else {}
        return httpx.Response(200, text=styles.get(request.url.path, "image"), headers=kind)

    path, chosen = tmp_path / "crawl.db", {"requisites": True, "robots": False}
    answers = kept(crawl_web(path, answer, [HOST], max_body=200, **chosen))
    assert answers.keys() == {f"{HOST}{name}" for name in ("/", "/short.png", *styles)}
    assert answers[f"{HOST}/long.css"].body.decode() == styles["/long.css"]


MANY = 10_000


@pytest.mark.slow
def test_a_page_with_very_many_requisites_keeps_no_other_waiting(tmp_path: Path) -> None:
    asked: list[str] = []

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        await asyncio.sleep(0)  # as a network does
        if request.url.path != "/":
            return httpx.Response(200, content=b"image")
        count = MANY + 5 if request.url.host == "a.example" else 5
        return httpx.Response(200, html="".join(f"<img src=/{n}.png>" for n in range(count)))

    path, seeds = tmp_path / "crawl.db", [HOST, "http://b.example"]
    settings = Settings.of(store=path, requisites=True, robots=False, delay=0, address_delay=0)
    Crawl(seeds, settings, transport=httpx.MockTransport(answer)).run()
    assert len(asked) == len(set(asked)) == MANY + 5 + 2
    assert max(asked.index(f"http://b.example/{n}.png") for n in range(5)) < 20
    assert len(kept(path)) == len(asked)


def test_requisites_are_not_requested_by_default_and_need_kept_pages(tmp_path: Path) -> None:
    web = Web()
    path = crawled(tmp_path / "crawl.db", web, requisites=False)
    assert kept(path).keys() == {*PAGES, f"{HOST}/robots.txt"}
    assert f"{HOST}/logo.png" not in web.asked
    for keep in ("none", "text", "links"):
        with pytest.raises(UsageError, match="needs --keep pages"):
            crawled(tmp_path / keep, Web(), keep=keep)


SIXTY = """
<html><head><link rel=stylesheet href=/1.css><link rel="alternate stylesheet" href=/2.css>
<link rel=icon href=/3.ico><link rel="shortcut icon" href=/4.ico>
<link rel=apple-touch-icon href=/5.png><link rel=apple-touch-icon-precomposed href=/6.png>
<link rel=mask-icon href=/7.svg><link rel=manifest href=/8.webmanifest>
<link rel=preload as=font href=/9.woff2><link rel=modulepreload href=/10.mjs>
<link rel=prefetch href=/11.js><link rel=preload as=image imagesrcset="/12.png 1x, /13.png 2x">
<script src=/14.js></script><script type=module src=/15.mjs></script>
<style>@import "/16.css"; @import url(/17.css) print; /* url(/not-a.png) */
b { background: url('/18.png'), image-set("/19.png" 1x, url(/20.png) 2x) }
b::after { content: "url(/not-b.png)" }
@font-face { src: url(/21.woff2) format("woff2"), local("not-c.woff") } i { cursor: url(/22.cur) }
</style></head><body background=/23.gif>
<img src=/24.png srcset="/25.png 1x,/26.png 2x" lowsrc=/27.png>
<img data-src=/28.jpg data-srcset="/29.jpg 1x, /30.jpg 2x"><img data-original=/31.jpg>
<img data-lazy-src=/32.jpg data-lazy=true><div data-bg="url(/33.png)"></div>
<div data-background-image=/34.png></div><noscript><img src=/35.png></noscript>
<picture><source srcset="/36.webp 100w, /37.webp 200w"><img src=/24.png></picture>
<video src=/38.mp4 poster=/39.jpg><source src=/40.webm><track src=/41.vtt></video>
<video data-poster=/42.jpg></video><audio src=/43.mp3><source src=/44.ogg></audio>
<svg><image href=/45.png /><image xlink:href=/46.png /><use href="/47.svg#a"/>
<use xlink:href="/47.svg#b"/><use href="#here"/><feImage href=/48.png /></svg>
<table background=/49.gif><tr background=/50.gif><td background=/51.gif>cell</table>
<object data=/52.svg></object><embed src=/53.swf><input type=image src=/54.png>
<p style="background: url(/55.png)"><p style='list-style: url("/56\\29.png")'>
<img src=/24.png><img src="data:image/gif;base64,R0"></body></html>
"""
OF_FILES = {
    "1.css": "@import '57.css';",
    "57.css": "@import '58.css';",
    "58.css": "@import url(59.css);",
    **{f"{one}.css": f"@import '{one + 1}.css';" for one in range(59, 66)},
    "66.css": "a { src: url(67.woff) }",
    "8.webmanifest": '{"icons": [{"src": "68.png"}], "shortcuts": [{"icons": [{"src": 7}]}]}',
    "52.svg": "<svg xmlns='http://www.w3.org/2000/svg'><image href='69.png'/></svg>",
}
_KIND = {"css": "text/css", "svg": "image/svg+xml", "webmanifest": "application/manifest+json"}


def test_everything_that_a_browser_would_request_is_kept_once(tmp_path: Path) -> None:
    asked: Counter[str] = Counter()

    def answer(request: httpx.Request) -> httpx.Response:
        name = request.url.path[1:]
        asked[name] += 1
        if not name:
            return httpx.Response(200, html=SIXTY)
        headers = {"content-type": _KIND.get(name.rpartition(".")[2], "image/png")}
        return httpx.Response(200, text=OF_FILES.get(name, name), headers=headers)

    path = tmp_path / "crawl.db"
    crawl_web(path, answer, [HOST], keep="pages", requisites=True, robots=False)
    numbers = {int(name.partition(".")[0].partition(")")[0]) for name in asked if name}
    assert numbers == set(range(1, 70))
    assert set(asked.values()) == {1}
    assert len(kept(path)) == 70
