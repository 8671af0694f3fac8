"""Shapes of URLs and hashes of pages, by which traps are recognized."""

import pytest
from hypothesis import given, strategies as st

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
def test_urls_of_one_program_have_one_shape(one: str, other: str) -> None:
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
def test_urls_of_different_programs_have_different_shapes(one: str, other: str) -> None:
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
def test_repeated_segments_are_counted(target: str, times: int) -> None:
    assert most_repeats(target) == times


def test_segments_below_the_deepest_are_merged() -> None:
    token = "0f3a9b1c2d4e5f60"
    above, below = "/a" * (MOST_SEGMENTS - 2), "/a" * MOST_SEGMENTS
    assert program(f"{above}/{token}") == f"{above}/*"
    assert program(f"{below}/{token}") == f"{below}/#f#a#b#c#d#e#f#"


def test_the_first_parameters_tell_the_shape() -> None:
    many = "&".join(f"a{number}" for number in range(MOST_PARAMETERS))
    assert shape(f"/x?{many}&b") == shape(f"/x?{many}&c") != shape(f"/x?b&{many}")


def test_segments_are_counted_by_slashes() -> None:
    assert (segments("/"), segments("/a/b"), segments("/a/b/?c=/d")) == (1, 2, 3)


def test_a_program_is_its_path_without_numbers_and_tokens() -> None:
    assert program("/shop/s/0f3a9b1c2d4e5f60/item/12?a=1") == "/shop/s/*/item/#"


def test_parameters_are_sorted_by_name_and_equal_names_keep_their_order() -> None:
    assert with_sorted_parameters("/x?b=1&a=2&b=0&a=1") == "/x?a=2&a=1&b=1&b=0"
    assert with_sorted_parameters("/x") == "/x"


@given(TARGETS)
def test_sorting_is_idempotent_and_keeps_parameters_and_shape(target: str) -> None:
    ordered = with_sorted_parameters(target)
    assert with_sorted_parameters(ordered) == ordered
    assert parameters(ordered) == parameters(target)
    assert shape(ordered) == shape(target)


def test_without_parameter_removes_all_its_values() -> None:
    assert parameters("/x?b=1&a=2&b=0") == {"a", "b"}
    assert parameters("/x") == frozenset()
    assert without_parameter("/x?b=1&a=2&b=0", "b") == "/x?a=2"
    assert without_parameter("/x?b=1", "b") == "/x"


def test_parameter_values_are_those_written() -> None:
    assert parameter_values("/x?b=1&a=2&b=0", "b") == "b=1&b=0"
    assert parameter_values("/x", "b") == ""


def page(*lines: str, link: str = "/") -> bytes:
    items = "\n".join(f'<li class="x"> <a href="{link}">{line}</a></li>' for line in lines)
    return f"<!doctype html><title>A page</title><ul>{items}</ul>".encode()


def test_links_and_the_order_of_lines_do_not_change_the_hashes() -> None:
    assert text_hashes(page("One", "Two", link="/s/1")) == text_hashes(
        page("Two", "One", link="/s/2")
    )


def test_scripts_do_not_change_the_hashes() -> None:
    script = '<script>var id = "{}";</script>'
    assert text_hashes(script.format("abc").encode()) == text_hashes(script.format("xyz").encode())


def test_numbers_change_the_text_but_not_the_gist() -> None:
    may, june = text_hashes(page("Day 5 of 2003")), text_hashes(page("Day 6 of 2003"))
    assert may.gist == june.gist
    assert may.text != june.text


def test_other_words_change_the_gist() -> None:
    assert text_hashes(page("One")).gist != text_hashes(page("Two")).gist


def test_numbers_do_not_change_the_hash_of_a_title() -> None:
    assert title_hash("May 2003") == title_hash("May 2004") != title_hash("June 2003")
    assert title_bit("May 2003") == title_bit("May 2004")
    assert title_bit("May").bit_count() == 1


def test_a_title_without_words_has_hash_0() -> None:
    assert title_hash("") == title_hash("2003") == 0


def test_a_page_without_words_has_empty_hashes() -> None:
    assert text_hashes(b'<body>\n<img src="a.png">\n</body>') == TextHashes()
