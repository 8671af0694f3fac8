"""The text of a page: what a reader sees, line by line."""

import pytest

from minicrawl.web.references import headings, language, plain_text
from tests.linear_time import TIMES, expect_linear

PAGE = """<html><head><title>Shelf</title><style>p { color: red }</style></head>
<body><h1>Tea &amp; <b>cake</b></h1><!-- <p>not this</p> -->
<p title="a > b">One<br>two<script>if (a < b) { say("<p>no</p>") }</script>
<table><tr><td>3</td><td>4</td></tr></table><noscript>no</noscript></body></html>"""


def test_blocks_stand_on_lines_of_their_own_and_what_is_hidden_is_left_out() -> None:
    assert plain_text(PAGE).splitlines() == ["Tea & cake", "One", "two", "3 4"]


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("", ""),
        ("a < b", "a < b"),
        ("a<b", "a"),
        ("<p>open <script>never closed <p>x", "open"),
        ("<!-- never closed <p>x", ""),
        ("<SCRIPT>x</Script >y", "y"),
        ("one\n  two\t three", "one two three"),
        ("<paragraph>no block</paragraph> here", "no block here"),
        ("&lt;p&gt;", "<p>"),
        ("<pre>a\n  b\r\n\r\nc</pre>\nd\ne", "a\nb\nc\nd e"),
        ("<pre id=x>a <b\nclass=y>b</b>\nc", "a b\nc"),
        ("<PRE>a\rb</PRE ><p>c\nd", "a\nb\nc d"),
    ],
)
def test_text_is_what_is_left_of_markup(markup: str, text: str) -> None:
    assert plain_text(markup) == text


@pytest.mark.parametrize(
    "piece",
    [
        "<!-",
        "<script>",
        "<p ",
        '<p a="',
        "</",
        "<p>",
        "&amp",
        "<svg <",
        "<pre>",
        "<pre>\n<",
        "<pre\n",
    ],
)
def test_the_time_is_proportional_to_the_length(piece: str) -> None:
    little, much = piece * 2000, piece * 2000 * TIMES
    expect_linear(lambda: plain_text(little), lambda: plain_text(much), piece)


def test_headings_are_found_in_order_each_on_one_line() -> None:
    markup = "<h1 id=x>Tea &amp;\n <b>cake</b></h1><!-- <h2>no</h2> --><h3></h3><H2>Two<h4>Three"
    assert [text for _, text in headings(markup)] == ["Tea & cake", "Two", "Three"]


@pytest.mark.parametrize(
    ("markup", "said"),
    [
        ("<!doctype html><html lang=EN>", "en"),
        ('<HTML class="a" xml:lang="pt-BR">', "pt-br"),
        ("<html>", ""),
        ("<p lang=de>", ""),
    ],
)
def test_the_language_is_what_the_page_says(markup: str, said: str) -> None:
    assert language(markup) == said


@pytest.mark.parametrize("piece", ["<h1>", "<h1 ", "<html ", "<h1></h", '<html lang="'])
def test_headings_and_language_take_time_proportional_to_the_length(piece: str) -> None:
    little, much = piece * 2000, piece * 2000 * TIMES
    expect_linear(lambda: headings(little), lambda: headings(much), piece)
    expect_linear(lambda: language(little), lambda: language(much), piece)
