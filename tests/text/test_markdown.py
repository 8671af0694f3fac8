"""Markdown of the main text, with headings, lists, tables, code and links."""

import pytest

pytest.importorskip("selectolax")

from minicrawl.text.main import MARKDOWN

URL = "http://a.example/docs/page.html"
SENTENCE = "This sentence is long enough to be one, and says something about the subject itself."
OTHER = "Another one goes on with it for a while, so that there is a paragraph of more than a line."


def written(inside: str) -> str:
    """Return the Markdown of markup that follows two paragraphs."""
    begin = f"{SENTENCE}\n\n{OTHER}\n\n"
    found = MARKDOWN(f"<nav>x</nav><div><p>{SENTENCE}<p>{OTHER}{inside}</div>", URL)
    assert found.startswith(begin)
    return found.removeprefix(begin)


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<h2>A <em>b</em></h2><p>c", "## A *b*\n\nc"),
        ("<h2><img src=x></h2><p>c", "c"),
        ("<p><b>b</b>c <i>d </i>e", "**b**c *d* e"),
        ("<p>b<b> </b>c", "b c"),
        ("<p><strong>a <em>b</em></strong>", "**a b**"),
        ("<p><code>a*b</code> and <code>`c`</code>", "`a*b` and `` `c` ``"),
        ("<p>See <a href=#x>below</a> or <a href=mailto:x@y>write</a>.", "See below or write."),
        ("<p>See <a href='/a_(b)'>it</a> all.", "See [it](http://a.example/a_%28b%29) all."),
        ("<p>a<br>b", "a  \nb"),
        ("<p>2 * 3 [x] `y` a_b _c_ &lt;d> \\", "2 \\* 3 \\[x\\] \\`y\\` a_b \\_c\\_ \\<d> \\\\"),
        ("<p># a<p>1. b<p>- c<p>> d", "\\# a\n\n\\1. b\n\n\\- c\n\n\\> d"),
        ("<ul><li>a<li>b</ul><p>c", "- a\n- b\n\nc"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n   - b\n2. c"),
        ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
        ("<blockquote><p>a<ul><li>b</ul></blockquote>", "> a\n\n> - b"),
        ("<dl><dt>a<dd>b</dl>", "a\n\n:   b"),
        ("<pre>\n\n  a  b\n\tc`</pre>", "```\n  a  b\n\tc`\n```"),
        ("<p>a<p><br><p>b", "a\n\nb"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre><code class=language-c++>a</code></pre>", "```c++\na\n```"),
        ("<div class=highlight-python><div><pre>a</pre></div></div>", "```python\na\n```"),
        ("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```"),
    ],
)
def test_elements_are_written_as_markdown(markup: str, expected: str) -> None:
    assert written(markup) == expected


def test_links_are_resolved_like_in_a_crawl() -> None:
    found = written("<p>The <a href='x.html'>link <b>b</b></a>.")
    assert found == (
        "The [link](http://a.example/docs/x.html) [**b**](http://a.example/docs/x.html)."
    )


def test_a_link_into_a_page_keeps_its_fragment() -> None:
    found = written("<p>A <a href='x?(1)#a (b)\n2'>c</a>")
    assert found == "A [c](http://a.example/docs/x?%281%29#a%20%28b%292)"


def test_data_tables_are_markdown_tables() -> None:
    table = "<table><caption>C</caption><tr><th>a<th>b|c<tr><td>1<td><a href=/x>2</a><tr><td>3"
    expected = "C\n\n| a | b\\|c |\n| --- | --- |\n| 1 | [2](http://a.example/x) |\n| 3 |"
    assert written(table) == expected


@pytest.mark.parametrize(
    "table",
    [
        "<table><tr><td>a</table>",
        "<table><tr><td>a<tr><td>b</table>",
        "<table><tr><td>a<td>b<tr><td><td></table>",
        "<table><tr><td><pre>a</pre><td>b</table>",
        f"<table>{('<tr>' + '<td>a' * 300) * 2}</table>",
    ],
)
def test_layout_tables_are_written_cell_by_cell(table: str) -> None:
    assert "| " not in written(table)


def test_nested_lists_are_indented_up_to_a_limit() -> None:
    *_, deepest = written("<ul><li>x" * 40).splitlines()
    assert deepest.strip("- ") == "x"
    assert len(deepest) < 40


def test_boilerplate_is_omitted() -> None:
    assert "menu" not in MARKDOWN(f"<nav>menu</nav><p>{SENTENCE} {OTHER}", URL)
    assert MARKDOWN("", URL) == ""
