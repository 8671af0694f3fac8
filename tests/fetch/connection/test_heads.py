import pytest

from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.heads import Head, content_length, joined_headers, read_head
from minicrawl.states import State


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"HTTP/1.1 404 Not Found\r", 404),
        (b"HTTP/1.1 200", 200),
        (b"HTTP/1.1 200 \r", 200),
        (b"HTTP/1.1  200OK", 200),
        (b"HTTP/1.1\t999\tOdd", 999),
        (b"HTTP/2 200", 200),
        (b"HTTP/1.1 200 " + "schön".encode(), 200),
    ],
)
def test_a_status_line_needs_only_a_version_and_a_status(line: bytes, status: int) -> None:
    assert read_head(line) == Head(status, {})


@pytest.mark.parametrize(
    "line",
    [
        *(b"HTTP/1.1", b"HTTP/1.1 OK", b"HTTP/1.1 99 Odd", b"HTTP/1.1 2000 OK", b"HTTP/x 200 OK"),
        *(b"HTTP/1.1200", b"http/1.1 200 OK", b"HTTP/1.1 \xb2\xb2\xb2", b""),
    ],
)
def test_a_malformed_status_line_is_a_fault(line: bytes) -> None:
    with pytest.raises(Fault, match="no status line") as caught:
        read_head(line)
    assert caught.value.kind is State.PROTOCOL


@pytest.mark.parametrize(
    ("lines", "headers"),
    [
        (b"A: b\nC: d", {"a": "b", "c": "d"}),
        (b"hello\r\nA: b\r", {"a": "b"}),
        (b": b\r\n \t: c\r\nA: b\r", {"a": "b"}),
        (b"A : b\r\nC\t:d\t \r", {"a": "b", "c": "d"}),
        (b"A: b\r\n  c\r\n\td\r\nE: f\r", {"a": "b c d", "e": "f"}),
        (b"A: b\n c", {"a": "b c"}),
        (b"A: b\r\na: c\r", {"a": "b, c"}),
        (b"Location: /voil" + "à".encode() + b"\r", {"location": "/voilà"}),  # not a blank
        (b"Location: /a?q=voil\xe0%20#x", {"location": "/a?q=voil%E0%20#x"}),
    ],
)
def test_headers_are_read_as_browsers_do(lines: bytes, headers: dict[str, str]) -> None:
    assert read_head(b"HTTP/1.1 200 OK\r\n" + lines).headers == headers


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ([], {}),
        ([("Link", "<a>"), ("LINK", "<b>")], {"link": "<a>, <b>"}),
        ([("a", "é".encode().decode("latin-1")), ("b", "é")], {"a": "é", "b": "é"}),
    ],
)
def test_names_of_headers_are_lower_case_and_repeated_headers_joined(
    fields: list[tuple[str, str]], headers: dict[str, str]
) -> None:
    assert joined_headers(fields) == headers


@pytest.mark.parametrize(
    ("written", "length"),
    [
        ("0", 0),
        ("7", 7),
        ("007", 7),
        ("7, 7,7", 7),
        ("7, x", 7),
        ("", None),
        ("-7", None),
        ("+7", None),
        ("7.0", None),
        ("²", None),
        ("9" * 5000, None),
    ],
)
def test_a_content_length_that_is_no_number_is_ignored(written: str, length: int | None) -> None:
    assert content_length({"content-length": written}) == length
    assert content_length({}) is None
