import asyncio
import errno
import gzip
import io
from collections.abc import AsyncIterator
from random import Random

import pytest

from minicrawl.fetch.body.decoding import FACTOR, FLOOR_BYTES, codings
from minicrawl.fetch.body.reading import Body, BodyLimits, BodyVerdict, DecodeBudget, read_body
from minicrawl.fetch.http.faults import Fault
from minicrawl.model import Failed, Refused
from minicrawl.states import State
from minicrawl.web.sitemaps.sitemap import MAX_BYTES
from tests.fetch.results import kind_of


class Chunks:
    """Chunks of a body, and the number that was read; then an event to wait for, and an error."""

    def __init__(
        self, *chunks: bytes, until: asyncio.Event | None = None, error: Exception | None = None
    ) -> None:
        self.chunks, self.until, self.error = chunks, until, error
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            self.read += 1
            yield chunk
        if self.until:
            await self.until.wait()
        if self.error:
            raise self.error


def endless(*chunks: bytes) -> Chunks:
    return Chunks(*chunks, until=asyncio.Event())


def wanted(first_bytes: bytes) -> BodyVerdict:
    return BodyVerdict.UNWANTED if first_bytes.startswith(b"%PDF") else BodyVerdict.WANTED


def read(
    chunks: Chunks | bytes, cap: int = 100, coding: str = "", deadline: float | None = None
) -> Body | Failed | Refused:
    return read_with_cost(chunks, cap, coding, deadline)._replace(cost_s=0.0)


def body_of(found: Body | Failed | Refused) -> Body:
    assert isinstance(found, Body)
    return found


def read_with_cost(
    chunks: Chunks | bytes, cap: int, coding: str, deadline: float | None = None
) -> Body | Failed | Refused:
    limits = BodyLimits(DecodeBudget(max_bytes=1_000_000), deadline=deadline)
    return asyncio.run(read_body(chunks, codings(coding), cap, wanted, limits))


@pytest.mark.parametrize("coding", ["", "gzip"])
@pytest.mark.parametrize("body", [b"", b"abc", b"%PDF", b"a" * 100, b"a" * 1000])
def test_a_complete_body_is_read_like_one_that_arrives_in_chunks(body: bytes, coding: str) -> None:
    sent = gzip.compress(body) if coding else body
    assert read(sent, coding=coding) == read(Chunks(*filter(None, (sent,))), coding=coding)
    cut = sent[: len(sent) // 2]
    assert read(cut, coding=coding) == read(Chunks(*filter(None, (cut,))), coding=coding)


GONE = Fault(State.RESET, "gone")
NOTHING = gzip.compress(b"")
BOMB = gzip.compress(bytes(5_000_000))


@pytest.mark.parametrize(
    ("chunks", "coding", "outcome"),
    [
        (Chunks(b"ab", b"c"), "", Body(b"abc", 3, cut=None)),
        (Chunks(), "", Body(b"", 0, cut=None)),
        (Chunks(), "gzip", Body(b"", 0, cut=None)),
        (Chunks(NOTHING), "gzip", Body(b"", len(NOTHING), cut=None)),
        (Chunks(b"abc", b"d"), "", Body(b"abcd", 4, cut=None)),
        (Chunks(b"abc", b"de"), "", Body(b"abcd", 4, cut=State.TOO_LARGE)),
        (Chunks(b"abcd", b"e"), "", Body(b"abcd", 4, cut=State.TOO_LARGE)),
        (Chunks(b"abc", error=GONE), "", Body(b"abc", 3, State.RESET)),
        (Chunks(error=GONE), "", Failed(kind=State.RESET, detail="gone")),
        (Chunks(b"%PDF"), "", Refused(reason=State.TYPE)),
    ],
)
def test_a_body_of_at_most_four_bytes_is_all_its_chunks_up_to_where_they_end(
    chunks: Chunks, coding: str, outcome: Body | Failed | Refused
) -> None:
    assert read(chunks, cap=100 if coding else 4, coding=coding) == outcome


def test_chunks_beyond_the_cap_are_not_read() -> None:
    chunks = Chunks(b"abc", b"def", b"ghi", b"jkl")
    read(chunks, cap=4)
    assert chunks.read == 2


def test_the_cap_holds_before_and_after_decoding() -> None:
    coded = gzip.compress(b"a" * 1000)
    cut = State.TOO_LARGE
    assert read(Chunks(coded), cap=100, coding="gzip") == Body(b"a" * 100, len(coded), cut)
    content = bytes(range(256))
    coded = gzip.compress(content, compresslevel=0)
    body = body_of(read(Chunks(coded[:100], coded[100:]), cap=100, coding="gzip"))
    assert (body.wire_bytes, body.cut) == (100, cut)
    assert content.startswith(body.content)
    twice = gzip.compress(gzip.compress(content * 8, 0), 0)
    chunks = Chunks(twice[:1500], twice[1500:])
    assert body_of(read(chunks, cap=2060, coding="gzip, gzip")).cut is cut


def test_the_part_of_a_body_that_arrived_before_the_deadline_is_kept() -> None:
    assert read(endless(b"abc"), deadline=0) == Body(b"abc", 3, State.TIMEOUT)
    assert kind_of(read(endless(), deadline=0)) is State.TIMEOUT


def test_the_part_of_a_coding_that_breaks_off_is_decoded() -> None:
    content = bytes(range(200))
    body = body_of(read(Chunks(gzip.compress(content)[:-9]), cap=1000, coding="gzip"))
    assert body.cut is State.ENCODING
    assert content.startswith(body.content)
    assert body.content


@pytest.mark.parametrize(
    ("coded", "coding"),
    [
        (b"no gzip", "gzip"),
        (b"no gzip" * 100, "gzip"),
        (gzip.compress(b"abc", mtime=0)[:9], "gzip"),
        (BOMB, "br, gzip"),
    ],
)
def test_a_coding_that_yields_nothing_is_a_failure(coded: bytes, coding: str) -> None:
    assert kind_of(read(Chunks(coded), 10_000_000, coding)) is State.ENCODING


def test_an_unknown_coding_is_reported_before_anything_is_read() -> None:
    chunks = Chunks(b"abc")
    found = read(chunks, coding="lzma")
    assert isinstance(found, Failed)
    assert found.kind is State.ENCODING
    assert "lzma" in found.detail
    assert chunks.read == 0


def test_a_body_is_judged_by_its_first_bytes_and_read_no_further() -> None:
    chunks = Chunks(b"%PDF" + b"x" * 1000, b"x" * 1000, b"x" * 1000)
    assert read(chunks, cap=10_000) == Refused(reason=State.TYPE)
    assert chunks.read == 2


def test_a_bomb_is_cut_and_named_with_its_size_and_the_limit() -> None:
    body = body_of(read(Chunks(BOMB), cap=10_000_000, coding="gzip"))
    assert body.content == bytes(FLOOR_BYTES + FACTOR * len(BOMB))
    assert (body.wire_bytes, body.cut) == (len(BOMB), State.ENCODING)
    for named in (f"{len(BOMB):,} bytes", f"{FLOOR_BYTES:,}", f"{FACTOR} times"):
        assert named in body.cut_detail


def test_a_page_that_compresses_very_well_is_no_bomb() -> None:
    page = b"".join(b"<li><a href=/%d>item</a></li>\n" % (n // 9) for n in range(30_000))
    coded = gzip.compress(page, 9)
    assert len(page) > 59 * len(coded)
    assert read(Chunks(coded), 10_000_000, "gzip") == Body(page, len(coded), cut=None)


@pytest.mark.parametrize(
    ("chunks", "coding", "kind"),
    [
        (Chunks(gzip.compress(b"a" * 5000)), "gzip", Body),
        (Chunks(b"no gzip" * 100), "gzip", Failed),
        (Chunks(b"x", error=Fault(State.RESET, "gone")), "gzip", Failed),
        (Chunks(b"%PDF" * 1000), "", Refused),
    ],
)
def test_each_outcome_has_its_cost(
    chunks: Chunks, coding: str, kind: type[Body | Failed | Refused]
) -> None:
    outcome = read_with_cost(chunks, 10_000, coding)
    assert isinstance(outcome, kind)
    assert outcome.cost_s > 0


@pytest.mark.parametrize(
    ("sizes", "cap", "cut"),
    [
        ([80, 20], 90, []),  # as much as the limit
        ([80, 10, 11], 90, [80]),
        ([30, 80, 60], 90, [80]),
        ([150], 150, []),  # one body alone may be as large as its cap
        ([100, 50], 150, []),
        ([150, 1], 150, [150]),
    ],
)
async def test_beyond_100_bytes_in_all_the_largest_body_is_cut_at_once(
    sizes: list[int], cap: int, cut: list[int]
) -> None:
    limits = BodyLimits(budget := DecodeBudget(max_bytes=100))
    reading = [
        asyncio.create_task(read_body(endless(b"a" * size), [], cap, BodyVerdict.WANTED, limits))
        for size in sizes
    ]
    for _ in range(100):
        await asyncio.sleep(0)
    found = [body_of(await task) for task in reading if task.done()]
    assert [len(one.content) for one in found] == cut
    assert all(one.cut is State.CROWDED for one in found)
    assert budget.held_bytes == sum(sizes) - sum(cut)
    for task in reading:
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    assert budget.held_bytes == 0


@pytest.mark.parametrize("keeps_coded", [False, True])
async def test_kept_coded_bodies_count_as_memory(keeps_coded: bool) -> None:
    coded = gzip.compress(Random(1).randbytes(600))
    budget, end = DecodeBudget(max_bytes=10_000), asyncio.Event()
    limits = BodyLimits(budget, keeps_coded=keeps_coded)
    chunks = Chunks(coded[:300], coded[300:], until=end)
    reading = asyncio.create_task(read_body(chunks, ["gzip"], 1000, BodyVerdict.WANTED, limits))
    for _ in range(100):
        await asyncio.sleep(0)
    assert budget.held_bytes == 600 + len(coded) * keeps_coded
    end.set()
    assert body_of(await reading).coded.content == (coded if keeps_coded else b"")
    assert budget.held_bytes == 0


LIST_BYTES = 3_000_000
CHUNKS = [b"x" * 60_000] * 50


def read_list(*chunks: bytes, coding: str = "", budget: DecodeBudget | None = None) -> Body:
    """Read a list with a cap of 2 MB and some memory for all bodies."""
    limits = BodyLimits(budget or DecodeBudget(max_bytes=1_500_000))
    reading = read_body(
        Chunks(*chunks), codings(coding), 2_000_000, lambda _: BodyVerdict.LIST, limits
    )
    return body_of(asyncio.run(reading))


def spooled_in(found: Body) -> bytes:
    assert found.spooled is not None
    with found.spooled:
        return found.spooled.read()


def test_a_long_list_is_kept_in_a_file_and_takes_no_memory() -> None:
    budget = DecodeBudget(max_bytes=1_500_000)
    found = read_list(*CHUNKS, budget=budget)
    assert spooled_in(found) == b"x" * LIST_BYTES
    assert (found.content, found.wire_bytes, found.cut) == (b"", LIST_BYTES, None)
    assert budget.held_bytes == 0


def test_a_long_list_may_be_packed() -> None:
    text = b"".join(b"http://a.example/%d\n" % number for number in range(150_000))
    packed = gzip.compress(text)
    chunks = [packed[at : at + 9000] for at in range(0, len(packed), 9000)]
    assert spooled_in(read_list(*chunks, coding="gzip")) == text


def test_a_list_is_cut_at_the_limit_of_sitemaps() -> None:
    found = read_list(*[bytes(1_000_000)] * 60)
    assert len(spooled_in(found)) == MAX_BYTES
    assert found.cut is State.TOO_LARGE
    assert f"{MAX_BYTES:,} bytes" in found.cut_detail


def test_a_short_list_is_a_body_like_others() -> None:
    found = read_list(b"http://a.example/")
    assert (found.content, found.spooled) == (b"http://a.example/", None)


async def test_no_more_than_four_lists_at_once_may_be_longer_than_other_bodies() -> None:
    limits, end = BodyLimits(DecodeBudget(max_bytes=100_000_000)), asyncio.Event()
    lists = [
        asyncio.create_task(
            read_body(Chunks(*CHUNKS, until=end), [], 2_000_000, BodyVerdict.LIST, limits)
        )
        for _ in range(6)
    ]
    for _ in range(1000):  # until each list waits or is cut
        await asyncio.sleep(0)
    end.set()
    found = [body_of(await one) for one in lists]
    assert [one.cut for one in found if one.spooled is None] == [State.TOO_LARGE] * 2
    spooled = [len(spooled_in(one)) for one in found if one.spooled is not None]
    assert spooled == [LIST_BYTES] * 4


async def read_file(chunks: Chunks, budget: DecodeBudget, *, waits_s: float = 60) -> Body:
    deadline = asyncio.get_running_loop().time() + waits_s
    limits = BodyLimits(budget, deadline, file_bytes=LIST_BYTES, file_s=60)
    return body_of(await read_body(chunks, [], 100_000, BodyVerdict.FILE, limits))


async def test_short_files_do_not_wait_for_endless_ones() -> None:
    budget = DecodeBudget(max_bytes=1_500_000)
    blocking = [asyncio.create_task(read_file(endless(*CHUNKS), budget)) for _ in range(12)]
    for _ in range(1000):  # until each one waits for a slot or for more bytes
        await asyncio.sleep(0)
    assert budget.files.locked()
    assert (await read_file(Chunks(b"image"), budget)).content == b"image"
    waiting = asyncio.create_task(read_file(Chunks(*CHUNKS[:4]), budget))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    for one in blocking:
        one.cancel()
    found = await waiting
    assert (len(spooled_in(found)), found.cut) == (240_000, None)


async def test_a_file_has_more_time_than_a_page_from_its_first_bytes_on() -> None:
    class Slow(Chunks):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"one "
            for _ in range(10):  # a page would be cut here
                await asyncio.sleep(0)
            yield b"two"

    found = await read_file(Slow(), DecodeBudget(max_bytes=1_500_000), waits_s=0)
    assert (found.content, found.cut) == (b"one two", None)


def test_a_full_disk_cuts_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    assert read_list(*CHUNKS).cut is State.TOO_LARGE
