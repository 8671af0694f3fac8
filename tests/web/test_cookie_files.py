"""Cookie files in the format of curl and browsers."""

from http.cookiejar import MozillaCookieJar
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.cookies.cookie import Cookie
from minicrawl.web.cookies.files import BadLine, read_cookies, write_cookies

GOOD = ".a.example\tTRUE\t/\tFALSE\t0\tname\tvalue"


def test_a_cookie_file_is_read() -> None:
    lines = [
        "# Netscape HTTP Cookie File",
        "",
        GOOD,
        "#HttpOnly_b.example\tFALSE\t/x\tTRUE\t2000000000\ta\tb=c\r\n",
        "c.example\tFALSE\t/\tFALSE\t0\tempty",
    ]
    assert list(read_cookies(lines)) == [
        Cookie("name", "value", "a.example", is_host_only=False),
        Cookie("a", "b=c", "b.example", "/x", 2e9, is_secure=True, is_http_only=True),
        Cookie("empty", "", "c.example"),
    ]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("a.example s3cret", "7 fields"),
        (GOOD.replace("TRUE", "true"), "TRUE or FALSE"),
        (GOOD.replace("\t0\t", "\tsoon\t"), "time in seconds"),
        (GOOD.replace("\t0\t", "\tnan\t"), "time in seconds"),
        (GOOD.replace("\t/\t", "\tx\t"), "begins with a slash"),
        (GOOD.replace(".a.example", "."), "a domain"),
        (GOOD.replace("value", "s3cret\x01"), "printable"),
        (GOOD.replace("value", "s3;cret"), "printable"),
        (GOOD.replace("name", ""), "a name"),
        (GOOD.replace("value", "s3cret" * 1000), "4,096 characters"),
    ],
)
def test_a_bad_line_is_named_and_not_quoted(line: str, why: str) -> None:
    with pytest.raises(BadLine) as bad:
        list(read_cookies([GOOD, "# a comment", line]))
    assert bad.value.number == 3
    assert why in bad.value.why
    assert "s3cret" not in str(bad.value)


TEXTS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=";"))
COOKIES = st.builds(
    Cookie,
    TEXTS.filter(bool),
    TEXTS,
    st.sampled_from(["a.example", "b.c.example"]),
    st.just("/x"),
    st.none() | st.integers(1, 10**10).map(float),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@given(st.lists(COOKIES))
def test_written_cookies_are_read_back(cookies: list[Cookie]) -> None:
    text = write_cookies(cookies)
    assert list(read_cookies(text.splitlines(keepends=True))) == cookies


def test_the_standard_library_reads_written_cookies(tmp_path: Path) -> None:
    file = tmp_path / "cookies.txt"
    cookie = Cookie("a", "b", "a.example", "/", 4e9, is_secure=True, is_host_only=False)
    file.write_text(write_cookies([cookie]))
    jar = MozillaCookieJar(file)
    jar.load()
    (read,) = jar
    assert (read.name, read.value, read.domain, read.secure) == ("a", "b", ".a.example", True)
