import asyncio
import errno
import gzip
import io
from collections.abc import AsyncIterator
from random import Random

import pytest

from minicrawl.fetch.body import (
    FACTOR,
    FLOOR_BYTES,
    Body,
    BodyLimits,
    BodyVerdict,
    DecodeBudget,
    codings,
    read_body,
)
from minicrawl.fetch.http import Fault
from minicrawl.model import Failed, FailureKind, Refusal, Refused
from minicrawl.web.sitemaps import MAX_BYTES
from tests.fetch.results import kind_of


class Chunks:
    """Chunks of a body, the number of chunks that were read, and an error at the end if any."""

    def __init__(self, *chunks: bytes, error: Exception | None = None) -> None:
        self.chunks = chunks
        self.error = error
        self.read = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self.chunks:
            self.read += 1
            yield chunk
        if self.error:
            raise self.error


def wanted(first_bytes: bytes) -> BodyVerdict:
    return BodyVerdict.UNWANTED if first_bytes.startswith(b"%PDF") else BodyVerdict.WANTED


def read(
    chunks: Chunks | bytes, cap: int = 100, coding: str = "", deadline: float | None = None
) -> Body | Failed | Refused:
    return read_with_cost(chunks, cap, coding, deadline)._replace(cost_s=0.0)


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


GONE = Fault(FailureKind.RESET, "gone")
NOTHING = gzip.compress(b"")


@pytest.mark.parametrize(
    ("chunks", "coding", "outcome"),
    [
        (Chunks(b"ab", b"c"), "", Body(b"abc", 3, cut=None)),
        (Chunks(), "", Body(b"", 0, cut=None)),
        (Chunks(), "gzip", Body(b"", 0, FailureKind.ENCODING)),
        (Chunks(NOTHING), "gzip", Body(b"", len(NOTHING), cut=None)),
        (Chunks(b"abc", b"d"), "", Body(b"abcd", 4, cut=None)),
        (Chunks(b"abc", b"de"), "", Body(b"abcd", 4, cut=FailureKind.TOO_LARGE)),
        (Chunks(b"abcd", b"e"), "", Body(b"abcd", 4, cut=FailureKind.TOO_LARGE)),
        (Chunks(b"abc", error=GONE), "", Body(b"abc", 3, FailureKind.RESET)),
        (Chunks(error=GONE), "", Failed(kind=FailureKind.RESET, detail="gone")),
        (Chunks(b"%PDF"), "", Refused(reason=Refusal.TYPE)),
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
    cut = FailureKind.TOO_LARGE
    assert read(Chunks(coded), cap=100, coding="gzip") == Body(b"a" * 100, len(coded), cut)
    incompressible = gzip.compress(bytes(range(256)), compresslevel=0)
    body = read(Chunks(incompressible[:100], incompressible[100:]), cap=100, coding="gzip")
    assert isinstance(body, Body)
    assert (body.wire_bytes, body.cut) == (100, FailureKind.TOO_LARGE)
    assert bytes(range(256)).startswith(body.content)


class Endless(Chunks):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in super().__aiter__():
            yield chunk
        await asyncio.Event().wait()


def test_the_part_of_a_body_that_arrived_before_the_deadline_is_kept() -> None:
    assert read(Endless(b"abc"), deadline=0) == Body(b"abc", 3, FailureKind.TIMEOUT)


def test_a_body_of_which_nothing_arrived_before_the_deadline_is_a_failure() -> None:
    assert kind_of(read(Endless(), deadline=0)) is FailureKind.TIMEOUT


def test_the_part_of_a_coding_that_breaks_off_is_decoded() -> None:
    content = bytes(range(200))
    body = read(Chunks(gzip.compress(content)[:-9]), cap=1000, coding="gzip")
    assert isinstance(body, Body)
    assert body.cut is FailureKind.ENCODING
    assert content.startswith(body.content)
    assert body.content


@pytest.mark.parametrize("coded", [b"no gzip", gzip.compress(b"abc", mtime=0)[:9]])
def test_a_coding_that_yields_nothing_is_a_failure(coded: bytes) -> None:
    assert kind_of(read(Chunks(coded), coding="gzip")) is FailureKind.ENCODING


def test_an_unknown_coding_is_reported_before_anything_is_read() -> None:
    chunks = Chunks(b"abc")
    found = read(chunks, coding="lzma")
    assert isinstance(found, Failed)
    assert found.kind is FailureKind.ENCODING
    assert "lzma" in found.detail
    assert chunks.read == 0


def test_a_body_is_judged_by_its_first_bytes_and_read_no_further() -> None:
    chunks = Chunks(b"%PDF" + b"x" * 1000, b"x" * 1000, b"x" * 1000)
    assert read(chunks, cap=10_000) == Refused(reason=Refusal.TYPE)
    assert chunks.read == 2


BOMB = gzip.compress(bytes(5_000_000))


def test_a_bomb_is_cut_and_named_with_its_size_and_the_limit() -> None:
    body = read(Chunks(BOMB), cap=10_000_000, coding="gzip")
    assert isinstance(body, Body)
    assert body.content == bytes(FLOOR_BYTES + FACTOR * len(BOMB))
    assert (body.wire_bytes, body.cut) == (len(BOMB), FailureKind.ENCODING)
    for named in ("a bomb", f"{len(BOMB):,} bytes", f"{FLOOR_BYTES:,}", f"{FACTOR} times"):
        assert named in body.cut_detail


def test_a_bomb_under_another_coding_is_a_failure() -> None:
    assert kind_of(read(Chunks(BOMB), cap=10_000_000, coding="br, gzip")) is FailureKind.ENCODING


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
        (Chunks(b"x", error=Fault(FailureKind.RESET, "gone")), "gzip", Failed),
        (Chunks(b"%PDF" * 1000), "", Refused),
    ],
)
def test_each_outcome_has_its_cost(
    chunks: Chunks, coding: str, kind: type[Body | Failed | Refused]
) -> None:
    outcome = read_with_cost(chunks, 10_000, coding)
    assert isinstance(outcome, kind)
    assert outcome.cost_s > 0


def test_an_inner_coding_that_grows_past_the_cap_is_too_large() -> None:
    coded = gzip.compress(gzip.compress(bytes(range(256)) * 8, 0), 0)
    body = read(Chunks(coded[:1500], coded[1500:]), cap=2060, coding="gzip, gzip")
    assert isinstance(body, Body)
    assert body.cut is FailureKind.TOO_LARGE


async def test_the_largest_body_is_cut_for_others_at_once() -> None:
    limits = BodyLimits(DecodeBudget(max_bytes=100))
    largest = asyncio.create_task(read_body(Endless(b"a" * 80), [], 90, BodyVerdict.WANTED, limits))
    await asyncio.sleep(0)
    other = await read_body(Chunks(b"b" * 60), [], 90, BodyVerdict.WANTED, limits)
    cut = await largest
    assert isinstance(cut, Body)
    assert isinstance(other, Body)
    assert (len(cut.content), cut.cut) == (80, FailureKind.CROWDED)
    assert (len(other.content), other.cut) == (60, None)


def test_kept_coded_bodies_count_as_memory() -> None:
    coded = gzip.compress(Random(1).randbytes(600))

    class Measures(Chunks):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in super().__aiter__():
                yield chunk
            held.append(budget.held_bytes)

    budget, held = DecodeBudget(max_bytes=10_000), list[int]()
    for keeps_coded in (False, True):
        limits = BodyLimits(budget, keeps_coded=keeps_coded)
        chunks = Measures(coded[:300], coded[300:])
        body = asyncio.run(read_body(chunks, ["gzip"], 1000, BodyVerdict.WANTED, limits))
        assert isinstance(body, Body)
        assert body.coded.content == (coded if keeps_coded else b"")
    assert held == [600, 600 + len(coded)]
    assert budget.held_bytes == 0


LIST_BYTES = 3_000_000


def read_list(budget: DecodeBudget, *chunks: bytes, coding: str = "", cap: int = 2_000_000) -> Body:
    found = asyncio.run(
        read_body(
            Chunks(*chunks), codings(coding), cap, lambda _: BodyVerdict.LIST, BodyLimits(budget)
        )
    )
    assert isinstance(found, Body)
    return found


def test_a_long_list_is_kept_in_a_file_and_takes_no_memory() -> None:
    budget, chunk = DecodeBudget(max_bytes=1_500_000), b"x" * 60_000
    found = read_list(budget, *[chunk] * 50)
    assert found.spooled is not None
    with found.spooled:
        assert found.spooled.read() == b"x" * LIST_BYTES
    assert (found.content, found.wire_bytes, found.cut) == (b"", LIST_BYTES, None)
    assert budget.held_bytes == 0


def test_a_long_list_may_be_packed() -> None:
    text = b"".join(b"http://a.example/%d\n" % number for number in range(150_000))
    packed = gzip.compress(text)
    chunks = [packed[at : at + 9000] for at in range(0, len(packed), 9000)]
    found = read_list(DecodeBudget(max_bytes=1_500_000), *chunks, coding="gzip")
    assert found.spooled is not None
    with found.spooled:
        assert found.spooled.read() == text


def test_a_list_is_cut_at_the_limit_of_sitemaps() -> None:
    chunk = bytes(1_000_000)
    found = read_list(DecodeBudget(max_bytes=1_500_000), *[chunk] * 60)
    assert found.spooled is not None
    with found.spooled:
        assert len(found.spooled.read()) == MAX_BYTES
    assert found.cut is FailureKind.TOO_LARGE
    assert f"{MAX_BYTES:,} bytes" in found.cut_detail


def test_a_short_list_is_a_body_like_others() -> None:
    found = read_list(DecodeBudget(max_bytes=1_500_000), b"http://a.example/")
    assert (found.content, found.spooled) == (b"http://a.example/", None)


def test_no_more_than_four_lists_at_once_may_be_longer_than_other_bodies() -> None:
    async def work() -> list[Body]:
        limits, may_end = BodyLimits(DecodeBudget(max_bytes=100_000_000)), asyncio.Event()

        class Waits(Chunks):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                async for chunk in super().__aiter__():
                    yield chunk
                await may_end.wait()

        chunks = [bytes(60_000)] * 50
        lists = [
            asyncio.create_task(read_body(Waits(*chunks), [], 2_000_000, BodyVerdict.LIST, limits))
            for _ in range(6)
        ]
        for _ in range(1000):  # until each list waits or is cut
            await asyncio.sleep(0)
        may_end.set()
        return [one for one in await asyncio.gather(*lists) if isinstance(one, Body)]

    found = asyncio.run(work())
    assert [one.cut for one in found if one.spooled is None] == [FailureKind.TOO_LARGE] * 2
    spooled = [one.spooled for one in found if one.spooled is not None]
    assert len(spooled) == 4
    for file in spooled:
        with file:
            assert len(file.read()) == LIST_BYTES


async def read_file(chunks: Chunks, budget: DecodeBudget, *, waits_s: float = 60) -> Body:
    deadline = asyncio.get_running_loop().time() + waits_s
    limits = BodyLimits(budget, deadline, file_bytes=LIST_BYTES, file_s=60)
    found = await read_body(chunks, [], 100_000, BodyVerdict.FILE, limits)
    assert isinstance(found, Body)
    return found


async def test_short_files_do_not_wait_for_endless_ones() -> None:
    budget, chunk = DecodeBudget(max_bytes=1_500_000), bytes(60_000)
    endless = [asyncio.create_task(read_file(Endless(*[chunk] * 50), budget)) for _ in range(12)]
    for _ in range(1000):  # until each one waits for a slot or for more bytes
        await asyncio.sleep(0)
    assert budget.files.locked()
    assert (await read_file(Chunks(b"image"), budget)).content == b"image"
    waiting = asyncio.create_task(read_file(Chunks(*[chunk] * 4), budget))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not waiting.done()
    for one in endless:
        one.cancel()
    found = await waiting
    assert found.spooled is not None
    with found.spooled:
        assert (len(found.spooled.read()), found.cut) == (240_000, None)


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
    found = read_list(DecodeBudget(max_bytes=1_500_000), *[b"x" * 60_000] * 50)
    assert found.cut is FailureKind.TOO_LARGE
