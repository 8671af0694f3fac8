"""WARC files lose the records of a URL and all that belongs to them, and nothing else."""

import gzip
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from minicrawl.archive.warc import takedown
from minicrawl.archive.warc.takedown import LOG, take_down
from minicrawl.cli import main
from minicrawl.errors import MinicrawlError
from tests.cli.calls import Captured
from tests.fetch.warc.files import PACKED, record, response
from tests.webs import crawl_web

HOST = "http://a.example"
GONE, COPY, OTHER = f"{HOST}/secret", f"{HOST}/copy", f"{HOST}/other"
ANSWER, FIRST, SECOND = "<urn:1>", "<urn:2>", "<urn:3>"
SEEDS = f"seed: {GONE}\r\nseed: {OTHER}\r\n".encode()
OF_COPY = {"WARC_Target_URI": COPY}
RECORDS = [
    record("warcinfo", SEEDS, Content_Type="application/warc-fields", WARC_Block_Digest="sha1:A"),
    record("request", b"GET /secret", WARC_Target_URI=GONE, WARC_Concurrent_To=ANSWER),
    response(GONE, b"quokka", WARC_Record_ID=ANSWER),
    record("metadata", b"quokka", WARC_Target_URI="metadata:quokka", WARC_Concurrent_To=ANSWER),
    record("resource", b"quokka", WARC_Target_URI=f"urn:text:{GONE}"),
    record("revisit", b"", WARC_Refers_To_Target_URI=GONE, WARC_Record_ID=FIRST, **OF_COPY),
    record("revisit", b"", WARC_Refers_To=ANSWER, WARC_Record_ID=SECOND, **OF_COPY),
    record("request", b"GET /copy", WARC_Concurrent_To=FIRST, **OF_COPY),
    response(OTHER, b"a page\r\n\r\nWARC/1.0\r\n", WARC_Record_ID="<urn:4>"),
    record("conversion", b"a page", WARC_Target_URI=OTHER, WARC_Refers_To="<urn:4>"),
]


REASON = {"at": "2026-11-29T00:00:00Z", "what": "#taken-down-1", "why": "a letter of 12 May"}


def is_gone(url: str) -> bool:
    return url == GONE


def targets(file: Path) -> list[tuple[str, str | None]]:
    with file.open("rb") as raw:
        return [
            (one.rec_type, one.rec_headers.get_header("WARC-Target-URI"))
            for one in ArchiveIterator(raw)
        ]


@pytest.mark.parametrize("form", ["plain", "gzip by record", "one gzip member"])
def test_a_file_loses_the_records_of_a_url_and_nothing_else(form: str, tmp_path: Path) -> None:
    file = tmp_path / ("a.warc" if form == "plain" else "a.warc.gz")
    file.write_bytes(PACKED[form](RECORDS))
    assert take_down([tmp_path], is_gone, REASON) == ([str(file)], 7, [])
    content = file.read_bytes() if form == "plain" else gzip.decompress(file.read_bytes())
    assert content.endswith(b"".join(RECORDS[-2:]))
    assert targets(file) == [("warcinfo", None), ("response", OTHER), ("conversion", OTHER)]
    assert b"quokka" not in content
    assert b"/secret" not in content
    assert OTHER.encode() in content.partition(b"response")[0]
    assert sorted(tmp_path.iterdir()) == sorted((file, tmp_path / LOG))
    assert take_down([file], is_gone, REASON) == ([], 0, [])


def test_the_log_has_the_reason_and_what_was_removed_but_no_url(tmp_path: Path) -> None:
    file = tmp_path / "a.warc.gz"
    file.write_bytes(PACKED["gzip by record"](RECORDS))
    before = sha256(file.read_bytes()).hexdigest()
    take_down([file], is_gone, REASON)
    take_down([file], is_gone, REASON)  # finds nothing, and logs nothing
    (line,) = (tmp_path / LOG).read_text().splitlines()
    said = json.loads(line)
    assert said.items() >= (REASON | {"file": "a.warc.gz", "sha256_before": before}).items()
    assert said["sha256_after"] == sha256(file.read_bytes()).hexdigest()
    assert {ANSWER, FIRST, SECOND} <= set(said["records"])
    assert "<urn:4>" not in said["records"]
    assert HOST not in line


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-40],
        lambda content: content + b"quokka",
        lambda content: b"quokka" + content,
        lambda content: gzip.compress(content)[:-9],
        lambda content: content.replace(b"Content-Length", b"Length"),
        lambda content: content.replace(b"WARC-Type", b"x: %b\r\nWARC-Type" % (b"x" * (1 << 20))),
    ],
)
def test_a_damaged_file_is_named_and_stays_as_it_is(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    file = tmp_path / "a.warc"
    file.write_bytes(before := damage(b"".join(RECORDS)))
    files, records, unreached = take_down([file], is_gone, REASON)
    assert (files, records) == ([], 0)
    assert unreached[0].startswith(f"{file}: damaged (")
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_archives_that_are_not_rewritten_are_named(tmp_path: Path) -> None:
    for name in ("a.wacz", "b.warc.gz.open", "c.warc.zst", "d.arc.gz", "e.txt"):
        (tmp_path / name).touch()
    assert [
        Path(one.partition(":")[0]).name[0] for one in take_down([tmp_path], is_gone, REASON)[2]
    ] == [*"abcd"]
    assert take_down([tmp_path / "e.txt"], is_gone, REASON)[2]


def test_a_file_is_replaced_only_by_a_verified_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.warc"
    file.write_bytes(before := b"".join(RECORDS))

    def damaging(path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"a page", b"a p4ge"))

    monkeypatch.setattr(takedown, "sync", damaging)
    with pytest.raises(MinicrawlError, match="differs"):
        take_down([file], is_gone, REASON)
    assert file.read_bytes() == before


def answer(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path == "/":
        links = "".join(f"<a href=/{name}>{name}</a>" for name in ("a", "secret", "copy", "other"))
        return httpx.Response(200, html=f"<title>Home</title>{links}")
    text = "quokka" if path in ("/secret", "/copy") else path
    return httpx.Response(200, html=f"<title>T</title>{text}")


def crawled(path: Path, folder: Path, **more: Any) -> None:
    crawl_web(path, answer, [HOST, GONE], robots=False, warc=folder, keep="pages", **more)


def test_the_files_of_a_crawl_are_rewritten_with_their_index_and_go_on(
    tmp_path: Path, capsys: Captured
) -> None:
    path, folder = tmp_path / "crawl.db", tmp_path / "warcs"
    crawled(path, folder)
    store = ["--store", str(path)]
    assert main(["forget", GONE, *store, "--archives", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "rewritten archives  1" in out
    assert "are not changed: repeat" not in err
    crawled(path, folder, refresh=0.5)
    for file in folder.iterdir():
        content = file.read_bytes()
        content = gzip.decompress(content) if file.suffix == ".gz" else content
        assert b"a.example/secret" not in content, file
    (index,) = folder.glob("*-00001.cdxj")
    lines = index.read_text().splitlines()
    assert lines
    for line in lines:
        fields = json.loads(line.split(" ", 2)[2])
        packed = (folder / fields["filename"]).read_bytes()[int(fields["offset"]) :]
        content = gzip.decompress(packed[: int(fields["length"])])
        assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in content
    assert main(["check", *store]) == 0
    assert main(["forget", GONE, *store]) == 0
    assert f"repeat with --archives {folder}" in capsys.readouterr().err
    assert main(["forget", *store, "--archives", str(folder)]) == 2
    assert main(["forget", GONE, *store, "--archives", str(folder), "--dry-run"]) == 2
    (folder / "x.wacz").touch()
    assert main(["forget", GONE, *store, "--archives", str(folder / "x.wacz")]) == 1
    assert "x.wacz: only .warc and .warc.gz files are rewritten" in capsys.readouterr().err
