"""Text of a page line by line, its headings, and its language."""

import pytest

from minicrawl.web.html.page_text import headings, language, plain_text

PAGE = """<html><head><title>Shelf</title><style>p { color: red }</style></head>
<body><h1>Tea &amp; <b>cake</b></h1><!-- <p>not this</p> -->
<p title="a > b">One<br>two<script>if (a < b) { say("<p>no</p>") }</script>
<table><tr><td>3</td><td>4</td></tr></table><noscript>no</noscript></body></html>"""


def test_blocks_are_lines_of_their_own_and_hidden_text_is_left_out() -> None:
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
def test_markup_is_removed_from_text(markup: str, text: str) -> None:
    assert plain_text(markup) == text


def test_headings_are_in_order_and_each_on_one_line() -> None:
    markup = "<h1 id=x>Tea &amp;\n <b>cake</b></h1><!-- <h2>no</h2> --><h3></h3><H2>Two<h4>Three"
    assert [text for _, text in headings(markup)] == ["Tea & cake", "Two", "Three"]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<!doctype html><html lang=EN>", "en"),
        ('<HTML class="a" xml:lang="pt-BR">', "pt-br"),
        ("<html>", ""),
        ("<p lang=de>", ""),
    ],
)
def test_the_language_is_that_of_the_html_element(markup: str, expected: str) -> None:
    assert language(markup) == expected


SHELL = "<html><head><noscript><link rel=stylesheet href=s></noscript><title>T</title></head>"
POST = "<h2>Post</h2><p>One post of a forum, which a script shows."


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (f"<div id=app></div><NoScript>{POST}</NOSCRIPT>", "Post\nOne post of a forum"),
        (f"<p>Wait<noscript>{POST}</noscript><noscript>Two</noscript>", "Wait\nPost\nOne post"),
        (f"<noscript>{POST}", "Post\nOne post"),
        (f"<p>{'A page with a text of its own. ' * 3}<noscript>{POST}</noscript>", "A page"),
        ("<p>Wait<noscript>Please enable JavaScript, or use another browser.</noscript>", "Wait"),
        ("<p>Wait<noscript><iframe src=x></iframe></noscript>", "Wait"),
    ],
)
def test_noscript_is_the_text_of_a_page_that_has_next_to_none(body: str, text: str) -> None:
    page = f"{SHELL}<body>{body}"
    assert plain_text(page).startswith(text)
    assert ("Post" in plain_text(page)) == ("Post" in text)
    assert [one.text for one in headings(page)] == ["Post"] * ("Post" in text)
