"""Finished files in object stores: a folder, and an S3 server that fails."""

import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from minicrawl.archive.objects import bucket
from minicrawl.archive.objects.bucket import bucket_at
from minicrawl.archive.objects.moved_file import (
    mark_of,
    move,
    opened,
    recall,
    remove,
    stub_of,
    stub_path,
)
from minicrawl.archive.reader import ArchiveReader, verify
from minicrawl.archive.record import RecordKind
from minicrawl.archive.segments import Segments, offset_of, place_at, segment_of
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.errors import Damaged, Unreachable, UsageError
from tests.archive.archives import body, delete_index, filled, kept, url
from tests.archive.object_stores import SECRET, S3Server, objects, s3, store

__all__ = ["s3", "store"]
PAGES, SMALL = range(60), 4_000
IMPATIENT_S = 0.5
"""Limit of a request that a slow server exceeds."""


def finished(folder: Path, end: int) -> list[Path]:
    segments = Segments(folder)
    return [segments.path(number) for number in segments.numbers() if number < segment_of(end)]


def wrong(folder: Path, end: int) -> list[str]:
    """Return what is wrong with an archive of `PAGES`."""
    with closing(ArchiveReader(folder, end)) as reader:
        rows = [row for row in reader.index.rows(end) if row.kind != RecordKind.DICTIONARY]
        answers = [reader.answer(row.place) for row in rows]
        problems = list(verify(reader))
    pages = [(answer.url, answer.body) for answer in answers]
    return problems if pages == [(url(n), body(n)) for n in PAGES] else ["other pages", *problems]


def test_an_archive_is_the_same_when_it_was_moved(folder: Path, store: str) -> None:
    end = filled(folder, PAGES, SMALL)
    files = finished(folder, end)
    assert len(files) > 3
    for file in files:
        move(file, store)
    assert not any(file.exists() for file in files)
    assert len(objects(store)) == len(files)
    assert not wrong(folder, end)
    delete_index(folder)
    assert not wrong(folder, end)
    assert not Segments(folder).lost(place_at(1, 0), end)
    with closing(ArchiveWriter(folder, end, segment_bytes=SMALL)) as archive:
        archive.append([kept("http://b.example/", body(3))])
        archive.confirm()
        archive.reader.go_on_to(archive.end)
        (row,) = archive.reader.versions("http://b.example/")
        assert row.kind == RecordKind.REVISIT  # its body is in the object store
        assert archive.prune(lambda row: row.place >= end)
        archive.confirm()
        assert archive.remove_pruned()
        assert not objects(store)
        (row,) = archive.reader.versions("http://b.example/")
        assert archive.reader.answer(row.place).body == body(3)


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "503", "lost", "expired", "slow"])
def test_a_failing_store_loses_nothing(
    folder: Path, s3: S3Server, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if fault == "slow":
        monkeypatch.setattr(bucket, "REQUEST_S", IMPATIENT_S)
    end = filled(folder, PAGES, SMALL)
    files, failures = finished(folder, end)[:4], list[str]()
    for file in files:
        s3.fault, s3.share = fault, 0.6
        while file.exists():
            try:
                move(file, "s3://pages/of")
            except Unreachable as error:
                failures.append(str(error))
                s3.share /= 2
    s3.fault = ""
    assert failures
    assert SECRET not in "".join(failures)
    assert not wrong(folder, end)
    stubs = [stub_of(file) for file in files]
    assert objects("s3://pages/of") == sorted(stub.key for stub in stubs if stub is not None)


@pytest.mark.slow
def test_one_page_takes_one_small_range_and_a_scan_takes_few(tmp_path: Path, s3: S3Server) -> None:
    content = Random(1).randbytes(20 << 20)
    file = tmp_path / "segment-000001.pages"
    file.write_bytes(content)
    s3.requests.clear()
    move(file, "s3://pages")
    assert [method for method, _ in s3.requests].count("PUT") == 3  # in parts
    s3.requests.clear()
    segments = Segments(tmp_path)
    assert segments.read_bytes(place_at(1, 9_000_000), 5_000) == content[9_000_000:9_005_000]
    assert [count < 1 << 19 for _, count in s3.requests] == [True]
    s3.requests.clear()
    with opened(file) as raw:
        assert raw.read() == content
    assert len(s3.requests) < 12


@pytest.mark.slow
def test_errors_say_what_to_do(
    tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "segment-000001.pages"
    file.write_bytes(b"pages")

    def failure(place: str) -> str:
        with pytest.raises(Unreachable) as caught:
            move(file, place)
        stub_path(file).unlink()
        return str(caught.value)

    assert failure("s3://none") == "s3://none: no such bucket: make it (NoSuchBucket)"
    assert "no such folder: make it" in failure("file:///none/here")
    monkeypatch.setattr(bucket, "REQUEST_S", IMPATIENT_S)
    for fault, words in (("expired", "have expired: renew them"), ("slow", "no answer in time")):
        s3.fault = fault
        assert words in failure("s3://pages")
    monkeypatch.setattr(bucket, "REST_S", 60.0)
    failure("s3://pages")
    s3.requests.clear()
    failure("s3://pages")  # at once, and asks nobody
    assert not s3.requests
    bucket_at.cache_clear()
    s3.fault = ""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    (tmp_path / "keys").write_text(f"[me]\naws_access_key_id=i\naws_secret_access_key={SECRET}\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "keys"))
    monkeypatch.setenv("AWS_PROFILE", "me")
    move(file, "s3://pages")
    assert SECRET not in stub_path(file).read_text()
    monkeypatch.setitem(__import__("sys").modules, "obstore.exceptions", None)
    with pytest.raises(UsageError, match=r"install minicrawl\[objects\]"):
        opened(file).read()


@pytest.mark.parametrize("state", ["stub", "part", "whole", "other", "damaged stub"])
def test_a_kill_at_any_moment_is_made_good(tmp_path: Path, store: str, state: str) -> None:
    file, other = tmp_path / "a-00001.warc.gz", tmp_path / "other" / "a-00001.warc.gz"
    other.parent.mkdir()
    file.write_bytes(b"new bytes")
    other.write_bytes(b"old bytes" if state == "other" else b"new bytes")
    move(other, store)
    shutil.copy(stub_path(other), stub_path(file))
    stub = stub_of(other)
    assert stub is not None
    if state in ("stub", "part"):
        stub.bucket.delete(stub.key)
    if state == "part":
        (tmp_path / "part").write_bytes(b"new")
        stub.bucket.put(stub.key, tmp_path / "part")
    if state == "damaged stub":
        stub_path(file).write_text("{")
        with pytest.raises(Damaged):
            stub_of(file)
    move(file, store)
    assert opened(file).read() == b"new bytes"
    assert len(objects(store)) == 1
    recall(file, 3)
    assert file.read_bytes() == b"new"
    assert not objects(store)
    move(file, store)
    remove(file)
    remove(file)
    assert not objects(store)
    assert not stub_path(file).exists()


@pytest.mark.slow
def test_a_lost_object_is_damage_and_a_silent_store_is_none(folder: Path, s3: S3Server) -> None:
    end = filled(folder, PAGES, SMALL)
    files = finished(folder, end)
    for file in files:
        move(file, "s3://pages")
    s3.fault = "503"
    with closing(ArchiveReader(folder, end)) as reader, pytest.raises(Unreachable):
        list(verify(reader))  # it says nothing of damage
    with closing(ArchiveWriter(folder, end, segment_bytes=SMALL)) as archive:
        end = archive.append([kept("http://b.example/", body(3))])
        archive.confirm()
    s3.fault = ""
    with closing(ArchiveReader(folder, end)) as reader:
        (row,) = reader.versions("http://b.example/")
        assert reader.answer(row.place).body == body(3)  # written once more, as nobody could tell
        stub = stub_of(files[0])
        assert stub is not None
        stub.bucket.delete(stub.key)
    with closing(ArchiveReader(folder, end)) as reader:
        assert all("segment-000001" in line or "is gone" in line for line in verify(reader))
        assert any(True for _ in verify(reader))


def test_a_store_that_was_set_back_gets_its_bytes_back(folder: Path, store: str) -> None:
    end = filled(folder, PAGES, SMALL)
    with closing(ArchiveReader(folder, end)) as reader:
        rows = list(reader.index.rows(end))
        back = rows[len(rows) // 2].place
        before = [(row.place, reader.answer(row.place).body) for row in rows if row.place < back]
    for file in finished(folder, end):
        move(file, store)
    with closing(ArchiveWriter(folder, back, segment_bytes=SMALL)) as archive:
        pages = [(place, archive.reader.answer(place).body) for place, _ in before]
        assert pages == before
    assert Segments(folder).length(segment_of(back)) == offset_of(back)
    assert len(objects(store)) == segment_of(back) - 1


def test_a_stub_of_a_stranger_names_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    file = tmp_path / "segment-000001.pages"
    for digest in ("../diary", "", "a" * 64 + "/.."):
        stub = f'{{"url": "{tmp_path.as_uri()}", "sha256": "{digest}", "length": 10}}'
        stub_path(file).write_text(stub)
        with pytest.raises(Damaged, match=re.escape(f"{stub_path(file)} is damaged")):
            remove(file)
    assert (tmp_path / "diary").exists()


def sent(folder: Path, store: str, tmp_path: Path) -> tuple[Path, int]:
    """Return the folder of an archive that somebody else moved and sent, and its end."""
    end = filled(folder, PAGES, SMALL)
    for file in finished(folder, end):
        move(file, store)
    return Path(shutil.copytree(folder, tmp_path / "sent")), end


def test_an_object_store_that_only_a_stub_names_is_not_asked(
    folder: Path, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received, end = sent(folder, store, tmp_path)
    before = objects(store)
    is_named_by_nobody = re.escape(
        f"{received}/segment-000001.pages is in {store}, which you have not named for this folder "
        f"on this machine: if you trust that place, set MINICRAWL_OBJECTS={store}"
    )
    with closing(ArchiveReader(received, end)) as reader:
        for call in (
            lambda: list(verify(reader)),
            lambda: reader.versions(url(0)),
            lambda: remove(received / "segment-000001.pages"),
            lambda: recall(received / "segment-000001.pages", 3),
        ):
            with pytest.raises(Unreachable, match=is_named_by_nobody):
                call()
    monkeypatch.setenv("MINICRAWL_OBJECTS", f"{store}/elsewhere")
    with pytest.raises(Unreachable, match=is_named_by_nobody):
        opened(received / "segment-000001.pages").read()
    assert objects(store) == before
    monkeypatch.setenv("MINICRAWL_OBJECTS", f"{store}/")
    assert not wrong(received, end)


def test_a_silent_question_costs_the_reader_no_request(
    folder: Path, s3: S3Server, tmp_path: Path
) -> None:
    received, end = sent(folder, "s3://pages/of", tmp_path)
    s3.requests.clear()
    with closing(ArchiveReader(received, end)) as reader, pytest.raises(Unreachable):
        list(verify(reader))
    assert Segments(received).length(1) > 0  # its stub says so
    assert not s3.requests


def test_a_store_that_was_named_once_is_asked_again(
    folder: Path, store: str, tmp_path: Path
) -> None:
    received, end = sent(folder, store, tmp_path)
    link = tmp_path / "link"
    link.symlink_to(received)
    code = "from minicrawl.archive.objects.moved_file import *; name_store(Path(argv[1]), argv[2])"
    command = [sys.executable, "-c", f"from sys import argv; {code}", str(link), store]
    subprocess.run(command, check=True)
    assert not wrong(received, end)
    moved = received.rename(tmp_path / "elsewhere")
    with pytest.raises(Unreachable):
        wrong(moved, end)


def test_bytes_of_a_named_store_are_still_compared_with_their_digests(
    folder: Path, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received, end = sent(folder, store, tmp_path)
    monkeypatch.setenv("MINICRAWL_OBJECTS", store)
    stub = stub_of(received / "segment-000001.pages")
    assert stub is not None
    (tmp_path / "other").write_bytes(Random(1).randbytes(stub.length))
    stub.bucket.put(stub.key, tmp_path / "other")
    assert not stub.is_whole()
    with pytest.raises(Damaged, match="segment-000001"):
        wrong(received, end)


@pytest.mark.parametrize(
    ("variables", "state"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/me"}, "/state"),
        ({"XDG_STATE_HOME": "state", "HOME": "/home/me"}, "/home/me/.local/state/state"),
        ({"XDG_STATE_HOME": "", "HOME": "/home/me"}, "/home/me/.local/state"),
        ({"XDG_STATE_HOME": "", "HOME": "here"}, "/here/.local/state"),
        ({"XDG_STATE_HOME": "", "HOME": ""}, "/.local/state"),
    ],
)
def test_marks_are_in_no_folder_that_a_stranger_may_have_sent(
    variables: dict[str, str], state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    mark = mark_of(tmp_path, "s3://pages")
    assert mark.parent == Path(state, "minicrawl", "object-stores")
