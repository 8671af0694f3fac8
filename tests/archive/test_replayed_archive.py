"""A replay has the responses of the archive, and no others."""

from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.packing import pack_redirect
from minicrawl.archive.reader import ArchiveReader
from minicrawl.archive.record import RecordKind, pack
from minicrawl.archive.replay import ReplayedArchive
from minicrawl.archive.segments import FIRST, Segments
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.model import KeptAnswer, Moved, Response
from minicrawl.web.urls import posted
from tests.archive.archives import NOON, damage

SITE = "http://a.example/"
HTML = {"content-type": "text/html", "content-encoding": "br", "set-cookie": "a=1"}


def answer(name: str, body: bytes, kind: RecordKind = RecordKind.PAGE, status: int = 200) -> bytes:
    return pack(kind, SITE + name, Response(status, HTML, body), PLAIN, number=0)


def moved(name: str, target: str) -> bytes:
    return pack_redirect(SITE + name, Moved(target=target, status=302))


RECORDS = (
    answer("plain", b"<p>before"),
    answer("plain", b"<p>after"),
    answer("plain", b"gone", RecordKind.FAILURE, 404),
    answer("app", b"<script>"),
    answer("app", b"<p>drawn", RecordKind.RENDERED),
    answer("lost", b"no such page", RecordKind.FAILURE, 404),
    moved("old", f"{SITE}plain"),
    moved("round", f"{SITE}round"),
    moved("away", "mailto:a@a.example"),
    pack(RecordKind.PAGE, posted(SITE, b"x"), Response(200, HTML, b"to x"), PLAIN, number=0),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    with closing(ArchiveWriter(folder, FIRST)) as writer:
        writer.append(KeptAnswer(record, NOON) for record in RECORDS)
    return folder


def test_each_request_gets_the_last_response_and_redirects_are_followed(folder: Path) -> None:
    with closing(ArchiveReader(folder)) as reader:
        archive = ReplayedArchive(reader)
        for name, body in (("plain#top", b"<p>after"), ("old", b"<p>after"), ("app", b"<script>")):
            file = archive.file(SITE + name, None)
            assert file is not None
            assert (file.status, file.body) == (200, body)
            assert file.headers == {"content-type": "text/html"}
        lost, to_x = archive.file(f"{SITE}lost", None), archive.file(SITE, b"x")
        assert lost is not None
        assert lost.status == 404
        assert to_x is not None
        assert to_x.body == b"to x"
        for name in ("round", "away", "never"):
            assert archive.file(SITE + name, None) is None
        assert archive.file(SITE, b"y") is None
        assert archive.file("data:,x", None) is None


def test_a_rendered_page_is_recorded_as_its_dom(folder: Path) -> None:
    with closing(ArchiveReader(folder)) as reader:
        archive = ReplayedArchive(reader)
        app, plain = archive.page(f"{SITE}app"), archive.page(f"{SITE}plain")
        assert app is not None
        assert plain is not None
        assert (app.sent.body, app.recorded.body) == (b"<script>", b"<p>drawn")
        assert plain.sent == plain.recorded
        assert archive.page(f"{SITE}lost") is archive.page(f"{SITE}never") is None


def test_a_damaged_response_is_none(folder: Path) -> None:
    damage(folder, FIRST + 60, Segments(folder).end - FIRST - 60)
    with closing(ArchiveReader(folder)) as reader:
        archive = ReplayedArchive(reader)
        assert archive.file(f"{SITE}plain", None) is None
        assert archive.page(f"{SITE}plain") is None
