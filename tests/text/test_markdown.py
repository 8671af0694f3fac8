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
        ("<p><code>a <em>b</em></code>", "`a b`"),
        ("<h2>A<a href=#a>\u200b</a></h2><p>c", "## A\n\nc"),
        ("<p><code>a*b</code> and <code>`c`</code>", "`a*b` and `` `c` ``"),
        ("<p>See <a href=#x>below</a> or <a href=mailto:x@y>write</a>.", "See below or write."),
        ("<p>See <a href='/a_(b)'>it</a> all.", "See [it](http://a.example/a_%28b%29) all."),
        ("<p>a<br>b", "a  \nb"),
        ("<p>2 * 3 [x] `y` a_b _c_ &lt;d> \\", "2 \\* 3 \\[x\\] \\`y\\` a_b \\_c\\_ \\<d> \\\\"),
        ("<p># a<p>1. b<p>- c<p>> d", "\\# a\n\n1\\. b\n\n\\- c\n\n\\> d"),
        (
            "<p>---<p>a<br>===<p>10.<p>#b &amp;lt; -x",
            "\\---\n\na  \n\\===\n\n10\\.\n\n#b \\&lt; -x",
        ),
        ("<ul><li>a<li>b</ul><p>c", "- a\n- b\n\nc"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n   - b\n2. c"),
        ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
        ("<table><tr><td> <td> </table><p>c", "c"),
        (
            "<table><tr><form><td>a<td>b<tr><td>c<td>d</table>",
            "| a | b |\n| --- | --- |\n| c | d |",
        ),
        ("<figure><p>a</figure>", "a"),
        (
            "<figure><img src=/a.png><figcaption> </figcaption></figure>",
            "![](http://a.example/a.png)",
        ),
        ("<blockquote><p>a<ul><li>b</ul></blockquote>", "> a\n>\n> - b"),
        ("<blockquote><p>a</blockquote><blockquote>b</blockquote>", "> a\n\n> b"),
        ("<ol><li>a</ol><ol><li>b</ol><ol><li>c</ol>", "1. a\n1) b\n1. c"),
        ("<ul><li>a<ul><li>b</ul><ul><li>c</ul></ul><ul><li>d</ul>", "- a\n  - b\n  * c\n* d"),
        ("<ol><li>a</ol><ul><li>b<ul><li>c</ul></ul><ol><li>d</ol>", "1. a\n- b\n  - c\n1. d"),
        ("<ul><li>a</li><ul><li>b</ul></ul>", "- a\n- b"),
        ("<dl><dt>a<dd>b</dl>", "a\n\n:   b"),
        ("<pre>\n\n  a  b\n\tc`</pre>", "```\n  a  b\n\tc`\n```"),
        ("<p>a<p><br><p>b", "a\n\nb"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("<pre><code class=language-c++>a</code></pre>", "```c++\na\n```"),
        ("<pre><code class='go hljs'>a</code></pre>", "```go\na\n```"),
        (
            "<div class=language-c><div class=highlight><pre><code>a</code></pre></div></div>",
            "```c\na\n```",
        ),
        ("<figure><pre>a</pre><figcaption>b</figcaption></figure>", "```\na\n```\n\nb"),
        ("<p>a<figure><figcaption>b</figcaption></figure>", "a"),
        ("<div class=highlight-python><div><pre>a</pre></div></div>", "```python\na\n```"),
        ("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```"),
        ("<pre><code class='hljs rust'>a</code></pre>", "```rust\na\n```"),
        ("<div class='sourceCode'><pre class='sourceCode bash'>a</pre></div>", "```bash\na\n```"),
        ("<pre data-lang=go>a</pre>", "```go\na\n```"),
        ("<pre lang=go>a</pre>", "```go\na\n```"),
        ("<div lang=de><pre lang=en>a</pre></div>", "```\na\n```"),
        ("<pre class=language-plaintext>a</pre>", "```\na\n```"),
        ("<ol start=4><li>a<li>b<li value=9>c</ol>", "4. a\n5. b\n9. c"),
        ("<p>a <del>b</del> c", "a ~~b~~ c"),
        (
            "<ul><li><input type=checkbox checked> a<li><input type=checkbox>b<ul><li>c</ul></ul>",
            "- [x] a\n- [ ] b\n  - c",
        ),
        ("<p>x<sup>2</sup> and H<sub>2</sub>O", "x<sup>2</sup> and H<sub>2</sub>O"),
        ("<p>As <math alttext='x_1'><mi>x</mi></math> is", "As $x_1$ is"),
        (
            "<p>As <math><msup><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></msup>"
            "<mo>≤</mo><mfrac><mn>1</mn><msqrt><mi>n</mi></msqrt></mfrac></math> is",
            r"As ${a+b}^{2}≤\frac{1}{\sqrt{n}}$ is",
        ),
        (
            "<p>As <math><semantics><munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>"
            "<annotation-xml>sum</annotation-xml></semantics><mi>f</mi><mo>&#x2061;</mo></math> is",
            "As $∑_{i}^{n}f$ is",
        ),
        (
            "<p>As <math><mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr>"
            "<mtr><mtd>{}</mtd></mtr></mtable></math> is",
            r"As $\begin{matrix}1 & 0 \\ \{\}\end{matrix}$ is",
        ),
        ("<p>As <math><msup><mi>x</mi></msup></math> is", "As $x$ is"),
        ("<p>As <script type='math/tex'>\\alpha_1</script> is", "As $\\alpha_1$ is"),
        (
            "<p><span class=katex><span class=katex-mathml><math><mi>y</mi>"
            "<annotation encoding='application/x-tex'>y^2</annotation></math></span>"
            "<span class=katex-html aria-hidden=true>y2</span></span> is",
            "$y^2$ is",
        ),
        (
            "<figure><img src=/a.png alt='A [b]'><figcaption>The b</figcaption></figure><p>c",
            "![A \\[b\\]](http://a.example/a.png)\n\nThe b\n\nc",
        ),
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
    expected = "C\n\n| a | b\\|c |\n| --- | --- |\n| 1 | [2](http://a.example/x) |\n| 3 |  |"
    assert written(table) == expected


def test_footnotes_are_referred_to_and_written_once() -> None:
    text = "<p>One<sup><a href=#n1 id=r1>1</a></sup> and two<a href=#n2><sup>[2]</sup></a>."
    notes = "<ol><li id=n1>First <a href=#r1>↩</a><li id=n2><a href=#r2>^</a> Second</ol>"
    assert written(text + notes) == "One[^1] and two[^2].\n\n[^1]: First\n[^2]: Second"


def test_notes_of_sphinx_are_text_without_the_label_that_they_repeat() -> None:
    text = "<p>One <a href=#n1>[1]</a> is <a href=#n2>2</a> dropped."
    label = "<span>[</span><a href=#r1>1</a><span>]</span>"
    notes = f"<aside class='footnote brackets' id=n1><span>{label}</span><p>First.</aside>"
    gone = "<aside id=n2><p>Second.</aside>"
    assert written(text + notes + gone) == "One [^1] is 2 dropped.\n\n[^1]: First."


def test_notes_with_one_label_are_no_footnotes() -> None:
    text = "<p>One<a href=#n1>*</a> and two<a href=#n2>*</a>."
    notes = "<p id=n1>First.<p id=n2 style='color: red'>Second."
    assert written(text + notes) == "One\\* and two\\*.\n\nFirst.\n\nSecond."


def test_a_title_in_a_menu_is_no_title() -> None:
    page = f"<nav><h1>Menu</h1></nav><article><p>{SENTENCE}<p>{OTHER}</article>"
    assert MARKDOWN(page, URL) == f"{SENTENCE}\n\n{OTHER}"
    assert written("<p>See <a href=#x>1</a>.") == "See 1."


def test_pictures_outside_the_main_text_are_omitted() -> None:
    figure = "<figure><img src=/a.png><figcaption>b</figcaption></figure>"
    page = f"<div>{figure}</div><div><p>{SENTENCE}<p>{OTHER}{figure}</div><aside>{figure}</aside>"
    assert MARKDOWN(page, URL).count("a.png") == 1


def test_cells_that_span_columns_and_rows_keep_the_others_in_their_columns() -> None:
    table = (
        "<table><tr><th rowspan=2>a<th colspan=2>b<tr><th>c<th>d"
        "<tr><td>1<td rowspan=2>2<td>3<tr><td>4<td>5</table>"
    )
    expected = "| a | b |  |\n| --- | --- | --- |\n|  | c | d |\n| 1 | 2 | 3 |\n| 4 |  | 5 |"
    assert written(table) == expected
    of_section = "<table><tr><td rowspan=0>a<td>b<tr><td>c<tr><td>d<tbody><tr><td>e<td>f</table>"
    rows = ["| a | b |", "| --- | --- |", "|  | c |", "|  | d |", "| e | f |"]
    assert written(of_section).splitlines() == rows
    assert "| " not in written("<table><tr><td colspan=9999>a<td>b<tr><td>c<td>d</table>")


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
