"""Shapes of URLs and hashes of pages, by which traps are recognized."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.html.hashes import TextHashes, text_hashes, title_bit, title_hash
from minicrawl.web.url_shapes import (
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

MANY = "&".join(f"a{number}" for number in range(MOST_PARAMETERS))
UUID = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
TARGETS = st.text("ab1/.?&=-", max_size=30).map(lambda text: f"/{text}")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("/2003/5", "/1999/12", True),
        ("/calendar/2003/5/1", "/calendar/1/1/31", True),
        ("/s/0f3a9b1c2d4e5f60/item/7", "/s/9999a8b7c6d5e4f3/item/12", True),
        ("/wiki/Cat", "/wiki/Harbour", True),
        ("/a-first-post.html", "/the-second-one.html", True),
        ("/file.of-2003/x", "/file.of-1999/y", True),
        (f"/{UUID}/x", f"/{UUID.replace('1', '2')}/x", True),
        ("/list?b=1&a=2", "/list?a=9&b=8", True),
        ("/list?a=1&a=2", "/list?a=", True),
        ("/0f3a9b1c2d4e5f60", "/9999a8b7c6d5e4f3", True),
        (f"/x?{MANY}&b", f"/x?{MANY}&c", True),  # the first parameters tell the shape
        (f"/x?{MANY}&b", f"/x?b&{MANY}", False),
        ("/wiki/Cat", "/blog/Cat", False),
        ("/page.html", "/page.php", False),
        ("/page", "/page/", False),
        ("/list?a=1", "/list?b=1", False),
        ("/list?", "/list", False),
        ("/a-long-folder-name/x", "/another-folder-name/x", False),
        ("/2003", "/march", False),
    ],
)
def test_urls_of_one_program_have_one_shape(one: str, other: str, is_same: bool) -> None:
    assert (shape(one) == shape(other)) is is_same


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


def test_a_program_is_its_path_without_numbers_and_tokens() -> None:
    token = "0f3a9b1c2d4e5f60"
    assert program(f"/shop/s/{token}/item/12?a=1") == "/shop/s/*/item/#"
    above, below = "/a" * (MOST_SEGMENTS - 2), "/a" * MOST_SEGMENTS
    assert program(f"{above}/{token}") == f"{above}/*"
    assert program(f"{below}/{token}") == f"{below}/#f#a#b#c#d#e#f#"


def test_segments_are_counted_by_slashes() -> None:
    assert (segments("/"), segments("/a/b"), segments("/a/b/?c=/d")) == (1, 2, 3)


def test_parameters_are_found_sorted_and_removed_by_name() -> None:
    target = "/x?b=1&a=2&b=0"
    assert with_sorted_parameters(f"{target}&a=1") == "/x?a=2&a=1&b=1&b=0"
    assert with_sorted_parameters("/x") == "/x"
    assert parameters(target) == {"a", "b"}
    assert not parameters("/x")
    assert without_parameter(target, "b") == "/x?a=2"
    assert without_parameter("/x?b=1", "b") == "/x"
    assert (parameter_values(target, "b"), parameter_values("/x", "b")) == ("b=1&b=0", "")


@given(TARGETS)
def test_sorting_is_idempotent_and_keeps_parameters_and_shape(target: str) -> None:
    ordered = with_sorted_parameters(target)
    assert with_sorted_parameters(ordered) == ordered
    assert parameters(ordered) == parameters(target)
    assert shape(ordered) == shape(target)


def page(*lines: str, link: str = "/") -> bytes:
    items = "\n".join(f'<li class="x"> <a href="{link}">{line}</a></li>' for line in lines)
    return f"<!doctype html><title>A page</title><ul>{items}</ul>".encode()


SCRIPT = '<script>var id = "{}";</script>'


def test_links_scripts_and_the_order_of_lines_do_not_change_the_hashes() -> None:
    ordered, other = page("One", "Two", link="/s/1"), page("Two", "One", link="/s/2")
    assert text_hashes(ordered) == text_hashes(other)
    assert text_hashes(SCRIPT.format("abc").encode()) == text_hashes(SCRIPT.format("x").encode())
    assert text_hashes(b'<body>\n<img src="a.png">\n</body>') == TextHashes()


def test_numbers_change_the_text_but_not_the_gist() -> None:
    may, june = text_hashes(page("Day 5 of 2003")), text_hashes(page("Day 6 of 2003"))
    assert may.template == june.template != text_hashes(page("Hour 5 of 2003")).template
    assert may.text != june.text


def test_numbers_do_not_change_the_hash_of_a_title() -> None:
    assert title_hash("May 2003") == title_hash("May 2004") != title_hash("June 2003")
    assert title_hash("") == title_hash("2003") == 0
    assert title_bit("May 2003") == title_bit("May 2004")
    assert title_bit("May").bit_count() == 1
