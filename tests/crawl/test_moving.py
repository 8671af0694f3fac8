"""Crawls whose finished files move to an object store."""

import json
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from random import Random

import pytest

from minicrawl.archive.objects.moved_file import STUB, opened, stub_of
from tests.archive.object_stores import S3Server, objects, s3, store

__all__ = ["s3", "store"]
pytestmark = pytest.mark.slow

CODE = """
import sys
import minicrawl.archive.objects.bucket as bucket
import minicrawl.crawl.record.archiving as archiving
import minicrawl.crawl.record.moving as moving
archiving.open_archive.__defaults__ = (20_000,)
moving.PAUSE_S = moving.TROUBLE_PAUSE_S = 0.05
bucket.REQUEST_S, bucket.RETRIES, bucket.REST_S = 1.0, 0, 0.0
from minicrawl.__main__ import main
sys.exit(main())
"""


def started(*words: str) -> subprocess.Popen[str]:
    command, pipe = [sys.executable, "-c", CODE, *words], subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def said(*words: str, code: int = 0) -> str:
    process = started(*words)
    text = process.communicate()[0]
    assert process.returncode == code, text
    return text


def crawl_of(store: str, pages: int) -> list[str]:
    demo = ["crawl", "--demo", "--demo-pages", "300", "--delay", "0", "--no-converge"]
    return [*demo, "--warc", "w:60kB=warcs", "--objects", store, "--pages", str(pages)]


def moved_keys() -> list[str]:
    """Return the keys of all objects that stubs name."""
    stubs = [*Path("data/demo.db-pages").glob(f"*{STUB}"), *Path("warcs").glob(f"*{STUB}")]
    known = [stub_of(path.with_name(path.name.removesuffix(STUB))) for path in stubs]
    return sorted(stub.key for stub in known if stub is not None)


def assert_is_whole(store: str) -> None:
    assert said("check", "--store", "data/demo.db").startswith("ok")
    assert "ok" in said("archive", "--verify", "warcs")
    assert objects(store) == moved_keys()  # nothing twice, nothing forgotten
    said("export", "a.jsonl", "--force", "--with", "text", "--fetched", "--store", "data/demo.db")
    rows = list(map(json.loads, Path("a.jsonl").read_text().splitlines()))
    assert rows
    assert all(row["text"] or "#taken-down-" in row["url"] for row in rows)
    # Each WARC record is there once.
    names = [path.name.removesuffix(STUB) for path in Path("warcs").glob("*.warc.gz*")]
    assert len(names) == len(set(names))
    ids = [of for name in names for of in re.findall(rb"WARC-Record-ID: (\S+)", unpacked(name))]
    assert len(ids) == len(set(ids))


def unpacked(name: str) -> bytes:
    with opened(Path("warcs", name)) as raw:
        content, parts = raw.read(), list[bytes]()
    while content:
        member = zlib.decompressobj(wbits=31)
        parts.append(member.decompress(content))
        content = member.unused_data
    return b"".join(parts)


def test_kills_lose_nothing_and_double_nothing(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    random = Random(store)
    for _ in range(8):
        process = started(*crawl_of(store, 250))
        try:
            process.communicate(timeout=random.uniform(0.8, 3))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
    text = said(*crawl_of(store, 260), "--json")
    assert not list(Path("warcs").glob("*.warc.gz")), text
    assert len(list(Path("data/demo.db-pages").glob("segment-*.pages"))) == 1
    assert_is_whole(store)
    what = "http://wiki.footpaths.example/*"
    said("forget", what, "--archives", "warcs", "--store", "data/demo.db")
    assert objects(store) == moved_keys()
    said(*crawl_of(store, 260))
    assert_is_whole(store)
    for path in Path("warcs").glob(f"*{STUB}"):
        content = unpacked(name) if (name := path.name.removesuffix(STUB)).endswith(".gz") else b""
        assert b"Target-URI: http://wiki.footpaths.example/" not in content


def test_a_crawl_goes_on_while_the_store_fails(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = "s3://pages/of"
    s3.fault = "expired"
    text = said(*crawl_of(store, 150))
    assert "the credentials have expired: renew them (ExpiredToken)" in text
    assert re.search(r"\d+ finished files stay here: the next run moves them", text)
    assert said("check", "--store", "data/demo.db").startswith("ok")
    s3.fault, s3.share = "503", 0.3
    said(*crawl_of(store, 200))
    s3.fault = ""
    assert "moved to s3://pages/of" in said(*crawl_of(store, 201))
    assert_is_whole(store)
    s3.fault = "500"
    assert "s3://pages/of: " in said("check", "--store", "data/demo.db", code=1)


def test_a_store_that_somebody_sent_asks_no_object_store(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said(*crawl_of(store, 150))
    keys, page = objects(store), "http://www.open-commons.example/licence"
    for name in ("data", "warcs"):
        shutil.copytree(name, Path("sent", name))
    monkeypatch.chdir("sent")
    refusal = f"set MINICRAWL_OBJECTS={store}"
    of_store = ("--store", "data/demo.db")
    commands = [
        ["page", page, *of_store],
        ["check", *of_store],
        ["export", "a.jsonl", "--with", "text", "--fetched", *of_store],
        ["forget", page, "--archives", "warcs", *of_store],
        ["archive", "--verify", "warcs"],
        ["archive", "--verify", *of_store],
    ]
    for words in commands:
        assert refusal in said(*words, code=1)
    assert objects(store) == keys
    monkeypatch.setenv("MINICRAWL_OBJECTS", store)
    for words in commands:
        assert refusal not in said(*words)
    assert objects(store) != keys  # those of the page are gone
    monkeypatch.delenv("MINICRAWL_OBJECTS")
    said(*crawl_of(store, 160))
    said("check", *of_store)


def test_a_home_that_cannot_be_written_stops_no_crawl(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("state").write_text("")  # no folder
    assert f"what reads {store} needs MINICRAWL_OBJECTS" in said(*crawl_of(store, 60))
    assert moved_keys()
    page = ["page", "http://www.open-commons.example/licence", "--store", "data/demo.db"]
    assert f"set MINICRAWL_OBJECTS={store}" in said(*page, code=1)
