"""What a URL gives away, and whether two pages say the same."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web.html_page import TextHashes, text_hashes, title_bit, title_hash
from minicrawl.web.urls import (
    MOST_PARAMETERS,
    MOST_SEGMENTS,
    most_repeats,
    parameter_values,
    parameters,
    program,
    segments,
    shape,
    with_sorted_parameters,
    without_parameter,
)
from tests.linear_time import TIMES, expect_linear

UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
TARGETS = st.text("ab1/.?&=-", max_size=30).map(lambda text: f"/{text}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/2003/5", "/1999/12"),
        ("/calendar/2003/5/1", "/calendar/1/1/31"),
        ("/s/0f3a9b1c2d4e5f60/item/7", "/s/9999a8b7c6d5e4f3/item/12"),
        ("/wiki/Cat", "/wiki/Harbour"),
        ("/a-first-post.html", "/the-second-one.html"),
        ("/file.of-2003/x", "/file.of-1999/y"),
        (f"/{UUID}/x", f"/{UUID.replace('1', '2')}/x"),
        ("/list?b=1&a=2", "/list?a=9&b=8"),
        ("/list?a=1&a=2", "/list?a="),
        ("/0f3a9b1c2d4e5f60", "/9999a8b7c6d5e4f3"),
    ],
)
def test_what_one_program_writes_has_one_shape(one: str, other: str) -> None:
    assert shape(one) == shape(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/wiki/Cat", "/blog/Cat"),
        ("/page.html", "/page.php"),
        ("/page", "/page/"),
        ("/list?a=1", "/list?b=1"),
        ("/list?", "/list"),
        ("/a-long-folder-name/x", "/another-folder-name/x"),
        ("/2003", "/march"),
    ],
)
def test_what_people_name_apart_has_another_shape(one: str, other: str) -> None:
    assert shape(one) != shape(other)


@pytest.mark.parametrize(
    ("target", "times"),
    [
        ("/", 1),
        ("/docs/guide/part", 1),
        ("/docs/guide/docs/guide/docs", 3),
        ("/a/a/a/a/a/a", 1),
        ("/00/00/00/00", 1),
        ("/2003/05/05?x=/05/05", 1),
        ("/b/b/bb/b/bb", 2),
    ],
)
def test_a_segment_counts_as_often_as_it_stands_in_the_path(target: str, times: int) -> None:
    assert most_repeats(target) == times


def test_what_is_deeper_than_anybody_sorts_pages_is_one_segment() -> None:
    token = "0f3a9b1c2d4e5f60"
    above, below = "/a" * (MOST_SEGMENTS - 2), "/a" * MOST_SEGMENTS
    assert program(f"{above}/{token}") == f"{above}/*"
    assert program(f"{below}/{token}") == f"{below}/#f#a#b#c#d#e#f#"


def test_the_first_parameters_tell_the_shape() -> None:
    many = "&".join(f"a{number}" for number in range(MOST_PARAMETERS))
    assert shape(f"/x?{many}&b") == shape(f"/x?{many}&c") != shape(f"/x?b&{many}")


@pytest.mark.parametrize("work", [shape, program, most_repeats])
@pytest.mark.parametrize(
    "piece", ["/", "/a1", "/11", "1a", "a-", "a.", "&", "&a=1", "/a1b2c3d4e5f6", "1b4e28ba-2fa1-"]
)
@pytest.mark.parametrize("start", ["/", "/x?"])
def test_no_target_takes_more_than_its_share(
    work: Callable[[str], object], piece: str, start: str
) -> None:
    times = 200_000 // len(piece)
    short, long = start + piece * times, start + piece * times * TIMES
    expect_linear(lambda: work(short), lambda: work(long))


def test_a_path_has_as_many_segments_as_slashes() -> None:
    assert (segments("/"), segments("/a/b"), segments("/a/b/?c=/d")) == (1, 2, 3)


def test_a_program_is_its_path_without_numbers_and_tokens() -> None:
    assert program("/shop/s/0f3a9b1c2d4e5f60/item/12?a=1") == "/shop/s/*/item/#"


# ---------------------------------------------------------------- parameters


def test_parameters_are_put_in_order_by_their_names_and_twins_keep_theirs() -> None:
    assert with_sorted_parameters("/x?b=1&a=2&b=0&a=1") == "/x?a=2&a=1&b=1&b=0"
    assert with_sorted_parameters("/x") == "/x"


@given(TARGETS)
def test_what_is_in_order_stays_so_and_has_the_same_parameters(target: str) -> None:
    ordered = with_sorted_parameters(target)
    assert with_sorted_parameters(ordered) == ordered
    assert parameters(ordered) == parameters(target)
    assert shape(ordered) == shape(target)


def test_a_parameter_can_be_taken_out() -> None:
    assert parameters("/x?b=1&a=2&b=0") == {"a", "b"}
    assert parameters("/x") == frozenset()
    assert without_parameter("/x?b=1&a=2&b=0", "b") == "/x?a=2"
    assert without_parameter("/x?b=1", "b") == "/x"


def test_a_parameter_has_the_values_that_are_written() -> None:
    assert parameter_values("/x?b=1&a=2&b=0", "b") == "b=1&b=0"
    assert parameter_values("/x", "b") == ""


# ---------------------------------------------------------------- text


def page(*lines: str, link: str = "/") -> bytes:
    items = "\n".join(f'<li class="x"> <a href="{link}">{line}</a></li>' for line in lines)
    return f"<!doctype html><title>A page</title><ul>{items}</ul>".encode()


def test_pages_that_differ_in_their_links_and_their_order_say_the_same() -> None:
    assert text_hashes(page("One", "Two", link="/s/1")) == text_hashes(
        page("Two", "One", link="/s/2")
    )


def test_what_a_script_assigns_is_not_said() -> None:
    script = '<script>var id = "{}";</script>'
    assert text_hashes(script.format("abc").encode()) == text_hashes(script.format("xyz").encode())


def test_pages_that_differ_in_numbers_have_the_same_gist_but_another_text() -> None:
    may, june = text_hashes(page("Day 5 of 2003")), text_hashes(page("Day 6 of 2003"))
    assert may.gist == june.gist
    assert may.text != june.text


def test_pages_of_other_words_have_another_gist() -> None:
    assert text_hashes(page("One")).gist != text_hashes(page("Two")).gist


def test_titles_that_differ_in_numbers_are_one() -> None:
    assert title_hash("May 2003") == title_hash("May 2004") != title_hash("June 2003")
    assert title_bit("May 2003") == title_bit("May 2004")
    assert title_bit("May").bit_count() == 1


def test_no_title_has_no_code() -> None:
    assert title_hash("") == title_hash("2003") == 0


def test_a_page_without_words_says_nothing() -> None:
    assert text_hashes(b'<body>\n<img src="a.png">\n</body>') == TextHashes()
