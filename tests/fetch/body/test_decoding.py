import gzip
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # it comes without types
import pytest
import zstandard
from hypothesis import given, strategies as st

from minicrawl.fetch.body.decoding import Decoder, codings

PAGE = b"".join(b"<p><a href=/%d>page %d</a>\n" % (page, page * page) for page in range(2000))
LIMIT = 1_000_000


def bare_deflate(content: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(content) + stream.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "X-GZip": gzip.compress,
    "deflate": zlib.compress,
    " deflate ": bare_deflate,
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "identity": bytes,
    "": bytes,
}


def decoded(coding: str, coded: bytes, step: int = 1 << 16, limit: int = LIMIT) -> bytes:
    return fed(Decoder(codings(coding), limit), coded, step)


def fed(decoder: Decoder, coded: bytes, step: int = 1 << 16) -> bytes:
    return b"".join(
        b"".join(decoder.slices(coded[at : at + step])) for at in range(0, len(coded), step)
    )


def decoded_until_broken(coding: str, coded: bytes, step: int = 1 << 16) -> bytes:
    """Return what is decoded of a broken stream, after which nothing is."""
    decoder = Decoder(codings(coding), LIMIT)
    content = fed(decoder, coded, step)
    assert decoder.is_over
    assert not decoder.swelling
    assert not decoder.whole
    assert b"".join(decoder.slices(CODERS[coding](PAGE))) == b""
    return content


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("step", [1, 17, 1 << 16])
def test_a_coded_body_is_decoded_however_it_is_split(coding: str, step: int) -> None:
    decoder = Decoder(codings(coding), LIMIT)
    assert fed(decoder, CODERS[coding](PAGE), step) == PAGE
    assert decoder.whole
    assert not decoder.is_over


@pytest.mark.parametrize("coding", sorted(set(CODERS) - {"identity", ""}))
def test_a_stream_is_decoded_up_to_where_it_breaks_off(coding: str) -> None:
    coded = CODERS[coding](PAGE)
    decoder = Decoder(codings(coding), LIMIT)
    begun = fed(decoder, coded[: len(coded) * 9 // 10], 100)
    assert PAGE.startswith(begun)
    assert not decoder.whole
    # A block of zstd is all or nothing, and this page is one block.
    assert begun or coding == "zstd"


@pytest.mark.parametrize("coding", sorted(set(CODERS) - {"identity", "", " deflate "}))
def test_bytes_of_another_coding_are_broken_and_decode_to_nothing(coding: str) -> None:
    assert decoded_until_broken(coding, PAGE) == b""


WRONG = bytearray(gzip.compress(PAGE + bytes(5000)))
WRONG[-8] ^= 1  # its checksum


@pytest.mark.parametrize("step", [1, 1 << 16])
def test_a_gzip_stream_with_a_wrong_checksum_is_decoded_up_to_the_limit(step: int) -> None:
    assert decoded_until_broken("gzip", bytes(WRONG), step) == PAGE + bytes(5000)
    assert decoded("gzip", bytes(WRONG), step, limit=len(PAGE) + 1) == PAGE + b"\0"


def test_most_of_a_broken_brotli_stream_is_decoded() -> None:
    begun = decoded_until_broken("br", brotli.compress(PAGE) + b"junk")
    assert PAGE.startswith(begun)
    assert len(begun) > 0.9 * len(PAGE)


@pytest.mark.parametrize("step", [1, 2, 1 << 16])
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_gzip_members_and_zstd_frames_are_read_one_after_another(coding: str, step: int) -> None:
    decoder = Decoder(codings(coding), LIMIT)
    assert fed(decoder, b"".join(map(CODERS[coding], (b"1 ", b"two ", b"three"))), step) == (
        b"1 two three"
    )
    assert decoder.whole


@pytest.mark.parametrize("step", [1, 1 << 16])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_bytes_after_the_end_that_begin_no_member_are_padding(coding: str, step: int) -> None:
    decoder = Decoder(codings(coding), LIMIT)
    assert fed(decoder, CODERS[coding](PAGE) + b"\0\0\0" + gzip.compress(PAGE), step) == PAGE
    assert decoder.whole


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_stream_of_countless_members_is_not_read_to_its_end(coding: str) -> None:
    assert len(decoded(coding, CODERS[coding](b"a") * 1500)) in (1000, 1001)


@pytest.mark.parametrize(
    "content_encoding",
    ["gzip, deflate", "br,gzip", "zstd, br, gzip", "identity, gzip, none, utf-8, ISO-8859-1, 8bit"],
)
def test_codings_over_one_another_are_undone_from_the_last(content_encoding: str) -> None:
    coded = PAGE
    for coding in content_encoding.split(","):
        coded = CODERS.get(coding.strip(), bytes)(coded)
    assert decoded(content_encoding, coded) == PAGE


def test_no_layer_under_the_last_gives_more_than_the_limit() -> None:
    bomb = bytes(50_000_000)
    assert decoded("gzip, gzip", gzip.compress(gzip.compress(bomb)), limit=5000) == bytes(5000)
    inner_bomb = gzip.compress(gzip.compress(b"a" * 10)[:10] + bomb)
    assert decoded("gzip, gzip", inner_bomb, limit=5000) == b""


def test_a_zstd_window_beyond_the_limit_is_broken() -> None:
    parameters = zstandard.ZstdCompressionParameters(window_log=25)
    stream = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    coded = stream.compress(bytes(40_000_000)) + stream.flush()
    assert decoded_until_broken("zstd", coded) == b""


@given(
    content=st.binary(max_size=3000),
    coding=st.sampled_from(sorted(CODERS)),
    step=st.integers(1, 400),
    limit=st.integers(1, 4000),
)
def test_the_decoded_bytes_are_the_start_of_the_content(
    content: bytes, coding: str, step: int, limit: int
) -> None:
    assert decoded(coding, CODERS[coding](content), step, limit) == content[:limit]


def test_a_brotli_window_that_takes_too_long_to_fill_is_broken(
    shared_vector: Callable[[str], Path],
) -> None:
    bomb = shared_vector("scrapy_compressed/bomb-br.bin").read_bytes()
    for coded in (bomb, brotli.compress(PAGE, lgwin=24), brotli.compress(PAGE, lgwin=23)):
        assert decoded_until_broken("br", coded) == b""


@pytest.mark.parametrize("bits", range(10, 23))
def test_every_smaller_brotli_window_is_read(bits: int) -> None:
    assert decoded("br", brotli.compress(PAGE, lgwin=bits)) == PAGE


GZIP, DEFLATE = ("html-gzip.bin", "gzip"), ("html-zlibdeflate.bin", "deflate")


@pytest.mark.parametrize(
    ("name", "coding", "twin"),
    [
        ("html-br.bin", "br", GZIP),
        ("html-gzip-deflate-gzip.bin", "gzip, deflate, gzip", GZIP),
        ("html-gzip-deflate.bin", "gzip, deflate", GZIP),
        ("html-rawdeflate.bin", "deflate", DEFLATE),
        ("html-zstd-static-content-size.bin", "zstd", GZIP),
        ("html-zstd-static-no-content-size.bin", "zstd", GZIP),
        ("html-zstd-streaming-no-content-size.bin", "zstd", GZIP),
    ],
)
def test_a_page_of_the_vectors_is_the_same_in_all_codings(
    name: str, coding: str, twin: tuple[str, str], shared_vector: Callable[[str], Path]
) -> None:
    folder = shared_vector("scrapy_compressed")
    page = decoded(coding, (folder / name).read_bytes())
    assert page.endswith(b"</html>\n")
    assert page == decoded(twin[1], (folder / twin[0]).read_bytes())


def test_broken_gzip_files_of_the_vectors_are_decoded_to_their_end(
    shared_vector: Callable[[str], Path],
) -> None:
    folder = shared_vector("scrapy_compressed")
    eof, crc, short = (
        decoded("gzip", (folder / f"{name}.gz").read_bytes())
        for name in ("unexpected-eof", "truncated-crc-error", "truncated-crc-error-short")
    )
    expected = (folder / "unexpected-eof-output.txt").read_text("utf-8")
    assert eof == expected.encode("latin-1")
    assert crc.endswith(b"</html")
    assert short.endswith(b"</html>")
