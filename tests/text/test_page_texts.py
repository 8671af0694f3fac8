"""Texts of kept pages in commands, exports and the Python API."""

import json
import signal
import threading
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("selectolax")

from minicrawl import Store
from minicrawl.cli import main
from minicrawl.errors import NoText, UsageError
from minicrawl.report.archived import file_reader, page_texts
from minicrawl.report.archived.killable_process import KillableProcess
from minicrawl.report.archived.made_texts import pages_of_site
from minicrawl.report.archived.page_texts import PageTexts
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import snapshot
from minicrawl.text.site_places import FEWEST_PAGES
from minicrawl.web.documents.document import FileText
from minicrawl.web.responses.types import DocumentType
from tests.cli.calls import Captured, printed, refusal
from tests.crawl.children import children
from tests.processes import busy_loops
from tests.text.sites import pages
from tests.text.stores import URLS, store_of, store_of_many
from tests.web.pdfs import pdf, words

SENTENCE = "This sentence is long enough to be one, and says something about the subject itself."
PAGE = f"<nav>menu</nav><h1>Title</h1><p>{SENTENCE}<p>{SENTENCE} <a href=/b>More</a> of it."
MAIN = f"Title\n{SENTENCE}\n{SENTENCE} More of it."
MARKDOWN = f"# Title\n\n{SENTENCE}\n\n{SENTENCE} [More](http://a.example/b) of it."


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return store_of(tmp_path, PAGE.encode())


def exported(capsys: Captured, store: Path, columns: str) -> list[dict[str, Any]]:
    export = ("export", "-", "--format", "jsonl", "--with", columns, "--store", store)
    return list(map(json.loads, printed(capsys, *export).splitlines()))


def test_a_page_can_be_shown_as_main_text_or_markdown(store: Path, capsys: Captured) -> None:
    page = ("page", URLS[0], "--store", store)
    assert printed(capsys, *page, "--main") == f"{MAIN}\n"
    assert printed(capsys, *page, "--markdown") == f"{MARKDOWN}\n"
    assert "--text" in refusal(capsys, *page, "--main", "--text")
    assert "--versions" in refusal(capsys, *page, "--main", "--versions")


def test_an_export_has_main_text_in_columns(store: Path, tmp_path: Path, capsys: Captured) -> None:
    read, unread = exported(capsys, store, "main,text,markdown")
    assert (read["main"], read["markdown"]) == (MAIN, MARKDOWN)
    assert read["text"].startswith("menu")
    assert (unread["main"], unread["markdown"]) == (None, None)
    duckdb = pytest.importorskip("duckdb")
    place = tmp_path / "pages.parquet"
    printed(capsys, "export", place, "--with", "main", "--store", store)
    assert duckdb.sql(f"SELECT main FROM '{place}' ORDER BY rank").fetchall() == [(MAIN,), (None,)]


FACTS = "page_id,crawl_order,content_type,bytes,robots,text_hash"


def test_an_export_has_facts_of_the_page_in_columns(
    tmp_path: Path, without_rooms: Callable[[], None], capsys: Captured
) -> None:
    body = f"<meta name=robots content='noarchive, noai'>{PAGE}".encode()
    headers = {"content-type": "Text/HTML; charset=utf-8", "x-robots-tag": "nofollow"}
    store = store_of(tmp_path, body, headers)

    def facts(columns: str) -> list[list[object]]:
        rows = exported(capsys, store, columns)
        return [[row[name] for name in FACTS.split(",")] for row in rows]

    digest = sha256(MAIN.encode()).hexdigest()
    read = [0, 1, "text/html", len(body), "nofollow, noarchive, noai", digest]
    unread = [1, None, None, None, None, None]
    assert facts(FACTS) == facts(f"{FACTS},main") == [read, unread]
    duckdb = pytest.importorskip("duckdb")
    place = tmp_path / "pages.parquet"
    printed(capsys, "export", place, "--with", FACTS, "--store", store)
    (seconds,) = (row["seconds"] for row in exported(capsys, store, "seconds") if row["status"])
    assert 0 <= seconds < 60
    types = duckdb.sql(f"SELECT page_id, crawl_order, bytes FROM '{place}'").types
    assert set(map(str, types)) == {"BIGINT"}
    whole = printed(capsys, "page", URLS[0], "--text", "--store", store).removesuffix("\n")
    without_rooms()
    assert facts(FACTS) == [[*read[:-1], sha256(whole.encode()).hexdigest()], unread]


def test_a_wet_file_has_the_main_text_of_each_page(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    place = tmp_path / "pages.warc.wet.gz"
    told = printed(capsys, "export", place, "--store", store, "--json")
    assert json.loads(told)["rows"] == 1  # the other page has not been read
    warcio = pytest.importorskip("warcio.archiveiterator")
    with place.open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers, record.content_stream().read().decode())
            for record in warcio.ArchiveIterator(file, check_digests="raise")
        ]
    (_, info, _), (kind, headers, text) = records
    assert info["WARC-Type"] == "warcinfo"
    assert (kind, headers["WARC-Target-URI"], text) == ("conversion", URLS[0], MAIN)
    assert headers["Content-Type"].startswith("text/plain")
    assert main(["export", str(place), "--with", "text", "--force", "--store", str(store)]) == 2
    assert main(["export", str(place), "--edges", "--force", "--store", str(store)]) == 2


def test_noscript_is_every_text_of_a_page_without_another(tmp_path: Path, capsys: Captured) -> None:
    store = store_of(tmp_path, f"<div id=app></div><noscript>{PAGE}</noscript>".encode())
    found = exported(capsys, store, "main,markdown,text")[0]
    assert (found["main"], found["markdown"]) == (MAIN, MARKDOWN)
    assert SENTENCE in found["text"]


def test_the_api_has_texts_and_headers_of_a_page(store: Path) -> None:
    with Store(store) as opened:
        page = opened.page(URLS[0])
        assert (page.url, page.status, page.html) == (URLS[0], 200, PAGE)
        assert (page.main, page.markdown) == (MAIN, MARKDOWN)
        assert page.text.startswith("menu")
        assert page.headers["server"] == "tests"


def test_a_document_without_markup_is_all_main_text(tmp_path: Path) -> None:
    path = store_of(tmp_path, b"# Title\n\nText.\n", {"content-type": "text/markdown"})
    with Store(path) as opened:
        page = opened.page(URLS[0])
        assert page.main == page.markdown == "# Title\n\nText.\n"
    with Store(path) as opened:
        page = opened.page(URLS[0])
    with pytest.raises(UsageError, match="closed"):
        _ = page.main


def test_pages_kept_as_text_have_no_main_text(tmp_path: Path, capsys: Captured) -> None:
    path = store_of(tmp_path, b"Old news", keep="text")
    with Store(path) as opened:
        assert opened.page(URLS[0]).main is None
    assert URLS[0] in refusal(capsys, "page", URLS[0], "--main", "--store", path)
    found, _ = exported(capsys, path, "main,text")
    assert (found["main"], found["text"]) == (None, "Old news")


def test_without_the_text_room_options_name_its_extra(
    store: Path, without_rooms: Callable[[], None], capsys: Captured
) -> None:
    without_rooms()
    for arguments in (
        ("page", URLS[0], "--main"),
        ("page", URLS[0], "--markdown"),
        ("export", "-", "--format", "jsonl", "--with", "main"),
    ):
        assert "minicrawl[text]" in refusal(capsys, *arguments, "--store", store)


def test_unknown_columns_are_refused(store: Path, capsys: Captured) -> None:
    export = ("export", "-", "--format", "jsonl", "--with", "made", "--store", store)
    assert "--with made: use text, html" in refusal(capsys, *export)


def kill(texts: PageTexts) -> None:
    """Kill the process that parses, as the system does when memory runs out."""
    # Nothing public names the process.
    assert texts._process is not None
    texts._process.child.kill()


def test_pages_share_a_process() -> None:
    with PageTexts(["main", "markdown"]) as texts:
        assert texts.of(PAGE, URLS[0]) == [MAIN, MARKDOWN]
        pipe = texts.answers()
        assert texts.of("", URLS[0]) == ["", ""]
        assert texts.answers() is pipe
    assert pipe.closed


@pytest.mark.slow
def test_a_slow_page_harms_no_other() -> None:
    hostile = "<div>" * 100_000
    with PageTexts(["main"], deadline_s=0.5) as texts:
        with pytest.raises(NoText, match="too long"):
            texts.of(hostile, URLS[0])
        texts._deadline_s = 60.0  # a busy machine may not make this page late, too
        assert texts.of(PAGE, "http://b.example/") == [MAIN]


def test_other_pages_of_a_site_help_to_find_the_main_text() -> None:
    site = list(pages(FEWEST_PAGES, is_veiled=True))
    asked: list[str] = []

    def sample(host: str) -> list[str]:
        asked.append(host)
        return [page.markup for page in site] if host == "news.example" else []

    with PageTexts(["main"], sample) as texts:
        for number, page in enumerate(site[:3]):
            assert texts.of(page.markup, f"http://news.example/{number}") == [page.main]
        assert texts.of(site[0].markup, "http://b.example:8080/") != [site[0].main]
        assert asked == ["news.example", "b.example"]
        kill(texts)
        with pytest.raises(NoText):
            texts.of(PAGE, "http://news.example/")
        assert texts.of(site[0].markup, "http://news.example/") == [site[0].main]


@pytest.mark.slow
def test_if_learning_from_a_site_is_too_slow_pages_are_read_singly() -> None:
    with PageTexts(["main"], lambda _: ["<div>" * 100_000] * 50, deadline_s=0.5) as texts:
        for _ in range(2):
            assert texts.of(PAGE, URLS[0]) == [MAIN]


def test_only_kept_html_pages_are_used_for_learning(store: Path) -> None:
    with snapshot(store) as seen, kept_pages(seen) as archive:
        assert pages_of_site(seen, archive, "a.example") == [PAGE]
        assert pages_of_site(seen, archive, "b.example") == []


def test_a_slow_site_is_given_up() -> None:
    with (
        PageTexts(["main"], most_of_a_site_s=-1.0) as texts,
        pytest.raises(NoText, match=r"other pages of a\.example"),
    ):
        texts.of(PAGE, URLS[0])


def test_a_site_pays_for_processor_time_only() -> None:
    waits = threading.Event()

    def sample(_host: str) -> list[str]:
        waits.wait(2 * page_texts.USUAL_S)
        return []

    with PageTexts(["main"], sample, most_of_a_site_s=0.0) as texts:
        assert [texts.of(PAGE, url) for url in (URLS[0], URLS[0])] == [[MAIN]] * 2


_ECHO = """
from minicrawl.report.archived.killable_process import Parent
parent = Parent()
parent.answer(b"ready")
parent.answer(parent.asked())
"""


_SLEEPS = """
from threading import Event
from minicrawl.report.archived.killable_process import Parent
parent = Parent()
parent.answer(b"")
while True:
    Event().wait(0.01)
"""
_WORKS = """
import os
from time import process_time
from minicrawl.memory.limits import limit_processor_time
from minicrawl.report.archived.killable_process import Parent
parent = Parent()
os.nice(14)  # any other program goes first
parent.answer(b"")
limit_s, work_s = map(float, parent.asked().split())
limit_processor_time(limit_s)
while process_time() < work_s:
    pass
parent.answer(b"done")
"""


def test_a_process_that_sleeps_is_given_up() -> None:
    process = KillableProcess(_SLEEPS, ())
    assert process.answer(0.2) is None
    process.end()


@pytest.mark.slow
@pytest.mark.parametrize(("limit_s", "answer"), [(0.3, None), (600.0, b"done")])
def test_deadlines_count_processor_time(limit_s: float, answer: bytes | None) -> None:
    """The process gets little of a busy machine, so its work takes far longer than the patience."""
    process = KillableProcess(_WORKS, ())
    with busy_loops(4):
        process.ask(f"{limit_s} 0.8".encode())
        assert process.answer(0.1) == answer
    process.end()
    assert (process.child.returncode == -signal.SIGPROF) == (answer is None)


def test_a_process_is_asked_when_it_is_ready() -> None:
    """Otherwise its message that it is ready would be taken for the text of the first page."""
    process = KillableProcess(_ECHO, ())
    process.ask(b"page")
    assert process.answer(None) == b"page"
    process.end()


@pytest.mark.parametrize(("deadline_s", "later_s"), [(5.0, 1.0), (0.5, 0.5)])
def test_many_slow_pages_shorten_the_deadline(deadline_s: float, later_s: float) -> None:
    with PageTexts(["main"], deadline_s=deadline_s, many_slow=1) as texts:
        texts.begin("<div>" * 20_000 + PAGE, URLS[0])  # takes longer than the kill
        kill(texts)
        with pytest.raises(NoText):
            texts.finish(URLS[0])
        assert texts._deadline_s == later_s  # shown by nothing but the time that a page gets


@pytest.mark.parametrize("step", ["begin", "finish"])
def test_an_export_names_slow_pages(
    step: str, store: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def late(*_: object) -> list[str]:
        raise NoText("late")

    monkeypatch.setattr(PageTexts, step, late)
    arguments = ["export", "-", "--format", "jsonl", "--with", "main", "--store", str(store)]
    assert main(arguments) == 1
    output = capsys.readouterr()
    assert json.loads(output.out.splitlines()[0])["main"] is None
    assert f"left out: {URLS[0]}: late" in output.err


@pytest.mark.slow
@pytest.mark.large
def test_the_same_store_gives_the_same_bytes_on_a_busy_machine(
    tmp_path: Path, capsys: Captured
) -> None:
    """A page takes about a second, a fifth of its deadline, and far longer beside loops."""
    slow = b"<div>" * 20_000 + PAGE.encode()
    files = [b"", slow, pdf(words("One", "Two"), links=["/a"]), b"", PAGE.encode(), slow]
    store = store_of_many(tmp_path, files)
    columns = "main,markdown,text,links,text_hash"
    exports = [exported(capsys, store, columns)]
    with busy_loops(4):
        exports.append(exported(capsys, store, columns))
    assert exports[0] == exports[1]
    assert [row["text"] for row in exports[0] if row["url"].endswith("/2")] == ["One\nTwo"]
    assert all(row["main"] for row in exports[0] if row["url"][-1] in "1245")


def test_a_pdf_is_read_once_and_without_text_it_is_null_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    reads = Counter[bytes]()

    def read(body: bytes, kind: DocumentType) -> FileText:
        reads[body] += 1
        return real(body, kind, 0.0 if body == slow else file_reader.DEADLINE_S)

    real, slow, fast = file_reader.read_file, pdf(words("Slow")), pdf(words("Fast"))
    monkeypatch.setattr(file_reader, "read_file", read)
    store = store_of_many(tmp_path, [b"", slow, fast])
    columns = ["main", "text", "links", "text_hash", "bytes"]
    arguments = ["export", "-", "--format", "jsonl", "--with", ",".join(columns)]
    assert main([*arguments, "--store", str(store)]) == 1
    assert reads == {slow: 1, fast: 1}
    output = capsys.readouterr()
    rows = {row["url"][-1]: row for row in map(json.loads, output.out.splitlines())}
    assert [rows["1"][name] for name in columns] == [None] * 4 + [len(slow)]
    assert [rows["2"][name] for name in columns[:3]] == ["Fast", "Fast", []]
    assert output.err.count("left out") == 1
    assert "/1: its text was not made: not parsed within 0 s of processor time" in output.err


def test_texts_belong_to_their_pages_if_two_processes_make_them(
    tmp_path: Path, capsys: Captured
) -> None:
    bodies = [f"<p>{SENTENCE} {number}".encode() for number in range(9)]
    store = store_of_many(tmp_path, bodies)
    assert {row["url"]: row["main"] for row in exported(capsys, store, "main")} == {
        f"http://a.example/{number}": f"{SENTENCE} {number}" if number % 3 else None
        for number in range(9)
    }


def test_a_store_makes_the_texts_of_all_its_pages_in_one_process(tmp_path: Path) -> None:
    before, made = {*children()}, list[set[int]]()
    bodies = [f"<p>{SENTENCE} {number}".encode() for number in range(3)]
    with Store.open(store_of_many(tmp_path, bodies)) as store:
        for number in (1, 2):
            assert store.page(f"http://a.example/{number}").main == f"{SENTENCE} {number}"
            made.append({*children()} - before)
    assert made[0] == made[1]
    assert len(made[0]) == 1


LISTS = f"""<h1>One</h1><h3>Two &amp; three</h3><h2> </h2><a href=/b rel="nofollow ugc">B</a>
<a href=mailto:a@b>no page</a><a href=//c.example/x></a>{SENTENCE}"""
HEADINGS = [{"level": 1, "text": "One"}, {"level": 3, "text": "Two & three"}]
LINKS = [
    {"url": "http://a.example/b", "text": "B", "rel": "nofollow ugc"},
    {"url": "http://c.example/x", "text": "", "rel": ""},
]


@pytest.mark.slow
def test_headings_and_links_are_lists_in_jsonl_and_parquet(
    tmp_path: Path, capsys: Captured
) -> None:
    store, place = store_of(tmp_path, LISTS.encode()), tmp_path / "pages.parquet"
    columns = "headings,links,data"
    read, unread = exported(capsys, store, columns)
    assert (read["headings"], read["links"], read["data"]) == (HEADINGS, LINKS, "")
    assert (unread["headings"], unread["links"]) == (None, None)
    duckdb = pytest.importorskip("duckdb")
    printed(capsys, "export", place, "--with", columns, "--store", store)
    found = duckdb.sql(f"SELECT headings, links FROM '{place}' ORDER BY rank").fetchall()
    assert found == [(HEADINGS, LINKS), (None, None)]
    unnested = f"SELECT l.url FROM (SELECT unnest(links) l FROM '{place}') WHERE l.rel = ''"
    assert duckdb.sql(unnested).fetchall() == [("http://c.example/x",)]
    table = pytest.importorskip("pandas").read_parquet(place)
    assert [dict(one) for one in table.headings[0]] == HEADINGS
    assert table.links[1] is None
