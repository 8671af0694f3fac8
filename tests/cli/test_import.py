"""`minicrawl import` of web archives: the store is as if a crawl had fetched the records."""

import gzip
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from minicrawl import Store
from minicrawl.archive.reader import ArchiveReader
from minicrawl.cli import main
from minicrawl.report.archived.page_versions import version
from minicrawl.report.snapshot import snapshot
from minicrawl.store.reader import archive_folder
from tests.cli.calls import Captured, as_json, printed
from tests.fetch.warc.files import HTML, PACKED, http, record, response
from tests.memory import limited_growth
from tests.processes import killed_on_failure
from tests.web.pdfs import pdf, words

SITE = "http://a.example/"


def page(*links: str, text: str = "") -> bytes:
    return "".join(f'<a href="{link}">{link}</a> ' for link in links).encode() + text.encode()


def revisit(url: str, block: bytes, **fields: str) -> bytes:
    return record("revisit", block, WARC_Target_URI=url, **fields)


REQUEST = b"GET /  HTTP/1.1\r\nX-NumBer:  1\r\n\r\n"
RECORDS = [
    record("warcinfo", b"software: tests\r\n", Content_Type="application/warc-fields"),
    record("response", b"a.example. 300 IN A 10.0.0.1", WARC_Target_URI="dns:a.example"),
    response(f"{SITE}robots.txt", b"User-agent: *", headers=[("Content-Type", "text/plain")]),
    response(SITE, page("/one", "/two", "/gone", "/picture", "/late", text="home")),
    record("request", REQUEST, WARC_Target_URI=SITE),
    record("metadata", b"via: x", WARC_Target_URI=SITE),
    response(f"{SITE}one", page("/", "/two", text="one")),
    response(f"{SITE}two", b"", "301 Moved", [("Location", "/three")]),
    response(f"{SITE}three", page("/one", text="three")),
    response(f"{SITE}gone", b"gone", "404 Not Found"),
    response(f"{SITE}picture", b"GIF89a", headers=[("Content-Type", "image/gif")]),
    response(f"{SITE}logo.png", b"PNG", headers=[("Content-Type", "image/png")]),
    response(f"{SITE}nobody", b"gone", "404 Not Found"),
    revisit(SITE, http(b"", "304 Not Modified")),
    revisit(f"{SITE}copy", http(b""), WARC_Refers_To_Target_URI=f"{SITE}one"),
    revisit(f"{SITE}unknown", http(b"")),
]


@pytest.fixture(autouse=True)
def _store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")


def imported(
    capsys: Captured, records: Sequence[bytes], *options: str, how: str = "gzip by record"
) -> Any:
    Path("a.txt").write_bytes(PACKED[how](records))  # its content says what it is
    return as_json(capsys, "import", "a.txt", *options)


def is_intact(store: str = "crawl.db") -> bool:
    return main(["check", "--store", store]) == 0


def states(store: str = "crawl.db") -> dict[str, str]:
    with Store.open(store) as opened:
        return {page.url[len(SITE) :]: str(page.state) for page in opened.pages()}


@pytest.mark.parametrize("how", PACKED)
def test_each_record_has_the_effect_of_a_fetched_response(capsys: Captured, how: str) -> None:
    found = imported(capsys, RECORDS, how=how)
    assert found["records"] == len(RECORDS)
    assert states() == {
        "": "fetched",
        "one": "fetched",
        "two": "moved",
        "gone": "not-found",
        "picture": "type",
        "late": "unread",
        "three": "fetched",
        "copy": "alias",
    }
    assert found["skipped"] == {
        "warcinfo records": 1,
        "metadata records": 1,
        "records that are not pages": 1,
        "records of pictures, failures and the like that no earlier link leads to": 2,
        "revisits of unknown responses": 1,
    }
    with snapshot(Path("crawl.db")) as seen:
        home, one, copy = (version(seen, f"{SITE}{name}") for name in ("", "one", "copy"))
    assert (home.of_all, home.answer.status) == (2, 304)
    assert copy.text == one.text
    assert (copy.answer.at, copy.answer.status) == (1_700_000_000.0, 200)
    assert is_intact()


def test_robots_txt_and_sitemaps_are_kept_with_the_pages(capsys: Captured) -> None:
    listed = response(f"{SITE}sitemap_1.xml", b"<urlset/>", headers=[("Content-Type", "text/xml")])
    found = imported(capsys, [*RECORDS[2:4], listed])
    assert not found["skipped"]
    with closing(ArchiveReader(Path("crawl.db-pages"))) as archive:
        for name, body in (("robots.txt", b"User-agent: *"), ("sitemap_1.xml", b"<urlset/>")):
            (row,) = archive.versions(f"{SITE}{name}")
            assert archive.answer(row.place).body == body
    assert main(["export", "b.warc.gz"]) == 0
    assert f"{SITE}robots.txt".encode() in gzip.decompress(Path("b.warc.gz").read_bytes())


@pytest.mark.parametrize("is_first", [True, False])
def test_heads_are_kept_in_either_order_of_the_records(capsys: Captured, is_first: bool) -> None:
    alone = record("request", b"GET /alone HTTP/1.1\r\n\r\n", WARC_Target_URI=f"{SITE}alone")
    both, text = "h2\r\nWARC-Protocol: tls/1.3", page(text="home")
    answer = response(SITE, text, WARC_Protocol=both, WARC_Cipher_Suite="cipher")
    exchange = [record("request", REQUEST, WARC_Target_URI=SITE), answer]
    found = imported(capsys, [alone, *(exchange if is_first else exchange[::-1]), alone])
    assert found["skipped"] == {"request records": 2}
    with snapshot(Path("crawl.db")) as seen:
        wire = version(seen, SITE).answer.wire
    assert wire is not None
    assert wire.request == REQUEST
    assert wire.response == http(b"")
    assert (wire.protocols, wire.cipher) == (("h2", "tls/1.3"), "cipher")


def test_an_exported_archive_is_imported_unchanged(capsys: Captured) -> None:
    imported(capsys, RECORDS)
    before = states()
    assert main(["export", "b.warc.gz"]) == 0
    assert main(["import", "b.warc.gz", "--store", "again.db"]) == 0
    assert is_intact("again.db")
    assert states("again.db") == before | {"picture": "unread"}  # no body of it is kept


def test_requisites_are_kept_on_request(capsys: Captured) -> None:
    """Requisites pass an export and another import unchanged, and are no pages."""
    pictures = [("Content-Type", "image/png")]
    records = [
        response(f"{SITE}seen.png", b"PNG 1", headers=pictures),
        response(
            SITE, page("/two") + b"<img src=/seen.png><img src=/moved.png><img src=/gone.png>"
        ),
        response(f"{SITE}two", page("/"), headers=HTML),
        response(f"{SITE}moved.png", b"", "302 Found", [("Location", "/there.png")]),
        response(f"{SITE}there.png", b"PNG 2", headers=pictures),
        response(f"{SITE}gone.png", b"no", "404 Not Found", pictures),
    ]
    found = imported(capsys, records, "--requisites")
    assert found["skipped"] == {}
    assert states() == {"": "fetched", "two": "fetched"}
    for store in ("crawl.db", "again.db"):
        with snapshot(Path(store)) as seen:
            names = ("seen.png", "moved.png", "gone.png")
            kept = [version(seen, f"{SITE}{name}").answer for name in names]
        assert (kept[0].body, kept[1].status, kept[2].status) == (b"PNG 1", 302, 404)
        assert main(["check", "--store", store]) == 0
        if store == "crawl.db":
            assert main(["export", "b.wacz"]) == 0
            assert main(["import", "b.wacz", "--store", "again.db", "--requisites"]) == 0


def test_the_ranks_converge_as_at_the_end_of_a_crawl(capsys: Captured) -> None:
    Path("a.warc").write_bytes(b"".join(RECORDS))
    assert "`minicrawl top --store crawl.db`" in printed(capsys, "import", "a.warc")
    assert as_json(capsys, "status")["convergence"]["is_complete"]
    plain = ("--store", "plain.db", "--no-converge")
    assert "`minicrawl refine --store plain.db`" in printed(capsys, "import", "a.warc", *plain)


def test_keep_none_imports_states_without_an_archive(capsys: Captured) -> None:
    imported(capsys, RECORDS, "--keep", "none")
    assert not archive_folder(Path("crawl.db")).exists()
    assert states()["one"] == "fetched"
    assert is_intact()


def test_a_revisit_finds_the_body_of_the_record_before(capsys: Captured) -> None:
    bodies = [page("/", text=f"version {number}") for number in range(40)]
    records = []
    for number, body in enumerate(bodies):
        head = http(b"", f"200 No. {number}")
        of = {"WARC_Refers_To_Target_URI": SITE}
        records += [response(SITE, body), revisit(f"{SITE}{number}", head, **of)]
    imported(capsys, records)
    with snapshot(Path("crawl.db")) as seen:
        answers = [version(seen, f"{SITE}{number}").answer for number in range(40)]
    assert [answer.body for answer in answers] == bodies
    heads = [answer.wire and answer.wire.response for answer in answers]
    assert heads == [http(b"", f"200 No. {number}") for number in range(40)]


@pytest.mark.slow
def test_a_film_in_an_archive_is_kept_whole_up_to_max_file(capsys: Captured) -> None:
    film = Random(1).randbytes(12_000_000)  # longer than --max-body
    kind = [("Content-Type", "video/mp4")]
    records = [
        response(SITE, page("/film.mp4", "/other.mp4")),
        response(f"{SITE}film.mp4", film, headers=kind),
        response(f"{SITE}other.mp4", film[::-1], headers=kind),
    ]
    Path("a.warc.gz").write_bytes(PACKED["gzip by record"](records))
    assert main(["import", "a.warc.gz", "--types", "html,files"]) == 0
    assert not capsys.readouterr().err
    with snapshot(Path("crawl.db")) as seen:
        answers = [version(seen, f"{SITE}{name}.mp4").answer for name in ("film", "other")]
    assert [(answer.body, answer.cut) for answer in answers] == [(film, ""), (film[::-1], "")]


def test_types_selects_the_documents_that_are_read(capsys: Captured) -> None:
    paper = pdf(words("A paper"), title="The paper", links=["/cited"])
    files = [("paper.pdf", "application/pdf", paper), ("a.md", "text/markdown", b"[b](/b)")]
    records = [RECORDS[3]] + [
        response(f"{SITE}{name}", body, headers=[("Content-Type", kind)])
        for name, kind, body in files
    ]
    imported(capsys, records, "--types", "html,pdf")
    found = states()
    assert (found["paper.pdf"], found["cited"]) == ("fetched", "unread")
    assert "b" not in found
    assert is_intact()


def test_a_file_without_a_record_makes_no_store(capsys: Captured) -> None:
    Path("a.warc").write_bytes(b"<html>")
    assert main(["import", "a.warc"]) == 2
    assert "minicrawl: a.warc: no WARC record" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["a.warc"]


def test_a_damaged_record_is_reported_and_costs_no_other_page(capsys: Captured) -> None:
    members = [PACKED["gzip by record"]([one]) for one in RECORDS]
    members[6] = members[6][:-20] + bytes(20)
    Path("a.warc.gz").write_bytes(b"".join(members))
    assert main(["import", "a.warc.gz"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "bytes are lost" in line
    assert states()["three"] == "fetched"
    assert states()["one"] == "unread"
    assert is_intact()


TEN_GB = 10 * 1024**3


@pytest.mark.slow
@pytest.mark.parametrize("is_there", [True, False], ids=["all there", "not there"])
def test_a_record_of_ten_gigabytes_is_reported_and_costs_no_other_page(
    capsys: Captured, is_there: bool
) -> None:
    large = record(
        "response", http(b"<p>large"), length=TEN_GB, WARC_Target_URI=f"{SITE}large"
    ).removesuffix(b"\r\n\r\n")
    with Path("a.warc").open("wb") as file:
        file.write(b"".join(RECORDS[:6]) + large)
        if is_there:
            begin = large.index(b"\r\n\r\n") + 4
            file.seek(TEN_GB - len(large) + begin, 1)  # a hole takes no space on the disk
        file.write(b"\r\n\r\n" + b"".join(RECORDS[6:]))
    with limited_growth(150 << 20):  # a body is held up to 10 MB, and copied while it is read
        assert main(["import", "a.warc"]) == (0 if is_there else 1)  # our limit is no damage
    (line,) = capsys.readouterr().err.splitlines()
    how = "has 10,737,418,240 bytes, and is cut" if is_there else "has a wrong length"
    assert f"the response of {SITE}large {how}" in line
    assert states().items() >= {"large": "fetched", "one": "fetched", "three": "fetched"}.items()
    assert is_intact()


def test_unknown_kinds_of_records_are_counted_together(capsys: Captured) -> None:
    made_up = [record(f"kind-{number}", b"x") for number in range(50)]
    told = imported(capsys, [*RECORDS[:4], *made_up])
    assert told["skipped"]["other records"] == 50
    assert not [reason for reason in told["skipped"] if "kind" in reason]


def test_control_characters_of_a_file_reach_no_terminal(capsys: Captured) -> None:
    Path("a.warc").write_bytes(
        record("response", b"x", length=7000, WARC_Target_URI="http://a/\x1b[31m") + RECORDS[3]
    )
    assert main(["import", "a.warc"]) == 1
    assert "\x1b" not in capsys.readouterr().err


STOPPED = """
import os, signal
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
commit = StoreWithArchive.commit
def commit_and_die(self, batch):
    commit(self, batch)
    if batch.documents:
        os.kill(os.getpid(), signal.SIGKILL)
StoreWithArchive.commit = commit_and_die
from minicrawl import Store
from minicrawl.cli import main
main(["import", "a.warc"])
"""


@pytest.mark.slow
def test_a_killed_import_leaves_no_store_and_hinders_none(capsys: Captured, place: Path) -> None:
    many = [response(f"{SITE}{n}", page(f"/{n + 1}", text=f"{n}" * 500)) for n in range(300)]
    Path("a.warc").write_bytes(b"".join(many))
    with killed_on_failure(subprocess.Popen([sys.executable, "-c", STOPPED], cwd=place)) as child:
        assert child.wait(60) == -signal.SIGKILL
    assert not Path("crawl.db").exists()
    imported(capsys, RECORDS)
    assert {path.name for path in Path().iterdir()} >= {"a.warc", "crawl.db", "crawl.db-pages"}
    assert not [path for path in Path().iterdir() if path.name.endswith(".part")]
