"""Responses are packed into records where they are fetched, with or without a dictionary."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minicrawl.archive.codec import PLAIN
from minicrawl.archive.packing import AnswerPacker, pack_any
from minicrawl.archive.record import Answer, RecordKind, header_of, seal
from minicrawl.archive.unpacking import read
from minicrawl.model import Failed, Request, Response
from minicrawl.states import State
from tests.archive.archives import NOON, answered, body, url


def text_of(folder: Path, response: Response) -> Answer:
    """Return the response as it is kept if only its text is."""
    record = AnswerPacker(folder, only_text=True).pack(Request(url(1)), response)
    return read(seal(record, NOON), PLAIN)


def test_a_packed_response_is_read_back(tmp_path: Path) -> None:
    request = Request(url(1), request_url=f"{url(1)}?sid=7")
    response = answered(body(1))._replace(cut=State.TIMEOUT)
    found = read(seal(AnswerPacker(tmp_path).pack(request, response), NOON), PLAIN)
    assert (found.url, found.request_url, found.cut) == (url(1), f"{url(1)}?sid=7", "timeout")
    assert (found.body, found.headers, found.at) == (body(1), response.headers, NOON)


def test_a_response_is_packed_without_a_missing_dictionary(tmp_path: Path) -> None:
    record = AnswerPacker(tmp_path).pack(Request(url(1), dictionary=3), answered(body(1)))
    assert header_of(record).dictionary == 0
    assert read(seal(record, NOON), PLAIN).body == body(1)


def test_only_the_text_is_kept_on_request(tmp_path: Path) -> None:
    found = text_of(tmp_path, answered(body(1)))
    assert found.kind is RecordKind.TEXT
    assert found.body.decode().splitlines()[-1] == "number 1"
    assert not found.cut


def test_the_text_of_a_very_long_page_is_truncated(tmp_path: Path) -> None:
    found = text_of(tmp_path, answered(b"<p>word" * 300_000))
    assert len(found.body) < 1 << 20
    assert "1,048,576 bytes" in found.cut


def test_an_unpacked_failure_can_be_packed_later() -> None:
    gone = Failed(State.NOT_FOUND, answer=answered(body(1), 404))
    record = pack_any(url(1), gone)
    assert record is not None
    found = read(seal(record, NOON), PLAIN)
    assert (found.kind, found.status, found.body) == (RecordKind.FAILURE, 404, body(1))
    assert pack_any(url(1), gone._replace(answer=None)) is None


def test_each_thread_has_a_compressor_of_its_own() -> None:
    """A compressor shared by two threads makes damaged records or crashes the process."""
    with ThreadPoolExecutor(1) as thread:
        other = thread.submit(lambda: PLAIN.compressor(0)).result()
    assert other is not PLAIN.compressor(0)
    assert PLAIN.compressor(0) is PLAIN.compressor(0)
