"""Text of a page for the search index."""

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("selectolax")

from minicrawl.search.indexing.page_text import page_text, simple_text

URL = "http://a.example/docs/page.html"


def test_invisible_content_is_omitted() -> None:
    markup = (
        "<title>T</title><style>s</style><p>one<script>two</script><template>three</template>"
        "<p hidden>four<p style='display:none'>five<p aria-hidden=true>six<noscript>7</noscript>"
    )
    found = page_text(markup, URL)
    assert (found.title, found.lines) == ("T", ("one",))


def test_noscript_is_the_text_of_a_page_that_has_next_to_none() -> None:
    found = page_text("<p>Wait<noscript><h1>Post</h1>One post <a href=x>here</a></noscript>", URL)
    assert (found.headings, found.lines) == (("Post",), ("Wait", "Post", "One post here"))
    assert found.anchors == (("http://a.example/docs/x", "here"),)


def test_blocks_are_lines_and_headings_and_defined_terms_are_headings() -> None:
    found = page_text("<h1>A <i>b</i></h1><dl><dt>c<dd>d</dl><h3></h3>", URL)
    assert found.headings == ("A b", "c")
    row = "<table><tr><td><p><a id=f></a><code>f</code>(x)<p>as <code>g</code><td><code>h</code>"
    assert page_text(row, URL).headings == ("f",)
    found = page_text("<html lang='pt-BR'><p>a <b>b</b>c\nd</p>e<td>f<br>g", URL)
    assert (found.lines, found.language) == (("a bc d", "e", "f", "g"), "pt-br")


def test_nested_navigation_is_separated_from_the_text() -> None:
    found = page_text("<header>h<nav>n<nav>m</nav></nav></header><p>x<footer>f</footer>", URL)
    assert found.lines == ("x",)
    assert set(found.frame) == {"h", "n", "m", "f"}


def test_links_are_resolved_like_in_a_crawl_and_have_their_words() -> None:
    markup = (
        "<base href='/other/'><a href='x#y'> An <b>x</b> </a><a href='?q'>q</a><a href='#z'>z</a>"
        "<a href='mailto:a@b'>m</a><a href='http://b.example'>b</a><a href='x'></a>"
    )
    assert page_text(markup, URL).anchors == (
        ("http://a.example/other/x", "An x"),
        ("http://a.example/other/?q", "q"),
        ("http://b.example/", "b"),
    )


@given(st.text())
def test_any_markup_has_a_text(markup: str) -> None:
    page_text(markup, URL)
    simple_text(markup)
