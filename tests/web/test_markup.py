import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from selectolax.lexbor import LexborHTMLParser

from minicrawl.web.html.attributes import attributes, decoded
from minicrawl.web.html.scanner import Markup, ParseOptions, meta_refresh, scan
from minicrawl.web.responses.headers import RobotsTag


def links(text: str) -> list[str]:
    return list(scan(text).links)


@pytest.mark.parametrize(
    "tag",
    [
        *("<a href=x>", "<area href=x>", "<frame src=x>", "<iframe src=x>"),
        *("<link rel=next href=x>", "<link rel='START Prev' href=x>"),
        "<link rel=alternate hreflang=de href=x>",
        "<link rel=alternate type='text/html; charset=utf-8' href=x>",
        *("<svg><a href=x></svg>", "<noscript><a href=x></noscript>"),
        *("<template><a href=x></template>", "<a rel='ugc sponsored' href=x>"),
        *("<a class=nofollow href=x>", '<a class="nofollow" href="x">'),
        *('<link rel="prev" href="x">', '<link rel="next" href="x">'),
        '<link rel="alternate" href="x">',
        # a link counts if one of its tags may be followed
        *("<a rel=nofollow href=x><a href=x>", "<a href=x><a rel=nofollow href=x>"),
        f"<a href={'x' * 9000}><a href=x>",
        # attributes are read as browsers read them
        *("<A HREF=x>", "<a\nhref\t=\f'x'>", '<a/href="x"/>', "<a href=x href=y>"),
        *("<a title='>' href=x>", '<a title="<a href=y>" href=x>', "<a title=don't href=x>"),
        *('<a ="href=y" href=x>', "<a ='href' =\">\"href=x>", "<a xhref=y href=x>"),
        *("<a title='a'href=x>", "<a title= href=y href=x>", '<a href="x">'),
        *('<a\nclass="k"  href="x" title="t" />', '<a hreflang="de" href="x">'),
        *('<a title="href=\'y\'"href="x">', '<a id="y"><a href="x">', '<a id="y" href="x">'),
    ],
)
def test_tags_that_lead_to_pages_are_links(tag: str) -> None:
    assert links(tag) == ["x"]


@pytest.mark.parametrize(
    "tag",
    [
        *("<a>", "<a name=href>", "<abbr href=x>", "<a-b href=x>", "<frame>", "<iframe src=''>"),
        *("<img src=x>", "<link href=x>", "<link rel=next>", "<link rel=stylesheet href=x>"),
        "<link rel='alternate stylesheet' href=x>",
        "<link rel=alternate type=application/rss+xml href=x>",
        *("<link rel='next nofollow' href=x>", "<a rel=nofollow href=x>"),
        *("<a href=x rel='UGC NoFollow'>", '<a rel="nofollow" href="x">'),
        *('<a href="x" rel="nofollow">', '<a href="x" class="k" rel="nofollow">'),
        *('<a id="x">', '<link rel="icon" href="x">'),
    ],
)
def test_tags_with_nofollow_or_without_a_page_are_no_links(tag: str) -> None:
    assert links(tag) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<a href=b><a href=a><a href=b>", ["b", "a"]),
        ('<a href="b"><a href=a><a href="b">', ["b", "a"]),
        # compared after decoding, and without their fragments
        ('<a href="&#97;"><a href="a">', ["a"]),
        ('<a href="?&amp;amp;"><a href="?&amp;"><a href="?&">', ["?&amp;", "?&"]),
        ("<a href=x#1><a href=x#2><a href=#3><a href=#4>", ["x#", "#"]),
        *((f"<a href{value}>", [""]) for value in ("", "=", "=''")),
    ],
)
def test_links_are_unique_and_in_the_order_of_the_page(text: str, found: list[str]) -> None:
    assert links(text) == found


def test_the_rest_of_a_page_is_read_after_the_last_link_that_is_kept() -> None:
    page = scan(
        "<a href=1><a href=2><a href=3><a href=1><title>T</title>", ParseOptions(max_links=2)
    )
    assert (list(page.links), page.has_more_links, page.title) == (["1", "2"], True, "T")
    repeated = scan("<a href=1><a href=2><a href='2#&amp;'><a href=1>", ParseOptions(max_links=3))
    assert not repeated.has_more_links


def test_an_attribute_without_value_is_empty_and_the_first_of_equal_ones_counts() -> None:
    assert attributes(" a b= c='' d") == {"a": "", "b": "c=''", "d": ""}
    assert attributes("A=1 a=2") == {"a": "1"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("?a=1&amp;b=2", "?a=1&b=2"),
        ("&lt;&#60;&#x3C;&#X3c", "<<<<"),
        ("?x&copy", "?x©"),
        ("?x&copy=1", "?x&copy=1"),
        ("?x&copy1", "?x&copy1"),
        ("?x&copy;=1", "?x©=1"),
        ("?x&copy/", "?x©/"),
        ("&notit;", "&notit;"),
        ("&nothing;&;&", "&nothing;&;&"),
        ("&#0;&#xD800;&#x110000;", "\N{REPLACEMENT CHARACTER}" * 3),
    ],
)
def test_character_references_are_decoded_by_the_rule_of_attributes(
    written: str, meant: str
) -> None:
    assert decoded(written) == meant
    assert links(f'<a href="{written}">') == [meant]


@pytest.mark.parametrize(
    ("number", "meant"),
    [
        ("9" * 6000, "\N{REPLACEMENT CHARACTER}"),
        ("0" * 6000, "\N{REPLACEMENT CHARACTER}"),
        ("0" * 6000 + "65", "A"),
        ("x" + "f" * 6000, "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_character_reference_may_have_thousands_of_digits(number: str, meant: str) -> None:
    reference = f"&#{number};"
    page = scan(f"<title>{reference}</title><a href={reference}>")
    assert (page.title, list(page.links)) == (meant, [meant])


@pytest.mark.parametrize(
    "before",
    [
        "<div>" * 100_000,
        "x" * 12_000_000,
        "\0<\0a href=y>\0",
        "</p title='<a href=y>'>",
        "<p title=\"it's\" alt='\"'>",
        "<![CDATA[ ]]>",
        "<SCRIPT type='>'><a href=y></Script >",
        "<script><!-- <script> </script> <a href=y> </script>",
        "<script><!-- <script> --> </script>",
        "<script><!-- <script>- </script> - --> </script>",
        "<script><!--> <script> </script>",
        "<textarea><a href=y></textareas></textarea>",
        "<select><option>",
        '<p title="<a href=y>">',
        '<p class="k" title="<a href=y>">',
        '<h1 class="k" id="<a href=y>" />',
        '<link rel="icon" href="<a href=y>">',
        '<a id="<a href=y>">',
        '<section a="k"b="<a href=y>">',
    ],
)
def test_no_markup_hides_a_link_after_it(before: str) -> None:
    assert links(f"{before}<a href=x>") == ["x"]
    assert links(f'{before}<a href="x">') == ["x"]


def test_in_xhtml_a_script_may_end_at_its_slash() -> None:
    page = "<script src='s'/><title/><iframe src='f'></iframe><a href='x'/><script>'<a href=y>'"
    assert list(scan(page, xhtml=True).links) == ["f", "x"]
    assert links(page) == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("<title> </title><title>A\n &lt;b> \t C</title><title>D</title>", "A <b> C"),
        ("<svg><title>icon</title></SVG><title>page</title>", "page"),
        (f"<title>{'ab ' * 10_000}", ("ab " * 100).rstrip()),
    ],
)
def test_the_first_title_that_is_not_empty_counts_and_is_cut(text: str, title: str) -> None:
    assert scan(text).title == title


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("<base target=_top><base href='/a?b&amp;c'><base href=/d>", Markup(base="/a?b&c")),
        (
            "<link rel=Canonical href=/a?b&amp;c><link rel=canonical href=/d>",
            Markup(canonical="/a?b&c"),
        ),
        (
            "<meta http-equiv=refresh><meta http-equiv=refresh content=0>"
            "<meta http-equiv=Refresh content='0;a?b&amp;c'><meta http-equiv=refresh content=1;d>",
            Markup(refresh="a?b&c"),
        ),
        # a refresh in noscript is only a link
        ("<noscript><meta http-equiv=refresh content=0;a></noscript>", Markup(links={"a": ""})),
        *(
            (text, Markup())
            for text in ("", "<!-- x -->", "<a href=x", "<a href='x'", "<a href='x>", "<")
        ),
    ],
)
def test_the_first_base_canonical_and_refresh_count(text: str, page: Markup) -> None:
    assert scan(text) == page


@pytest.mark.parametrize(
    ("tags", "robots"),
    [
        ("<meta name=robots content=noindex>", RobotsTag(noindex=True)),
        ("<META NAME=Robots CONTENT='NoFollow, noarchive'>", RobotsTag(nofollow=True)),
        ("<meta name=robots content=none>", RobotsTag(noindex=True, nofollow=True)),
        ("<meta name=MiniCrawl content=noindex>", RobotsTag(noindex=True)),
        ("<meta name=otherbot content=none>", RobotsTag()),
        ("<meta name=robots>", RobotsTag()),
        ("<meta name=description content=noindex>", RobotsTag()),
        ("<meta name=description content=robots>", RobotsTag()),
        (
            "<meta name=robots content=noindex><meta name=minicrawl content=nofollow>",
            RobotsTag(noindex=True, nofollow=True),
        ),
    ],
)
def test_robots_metas_are_for_all_or_for_a_named_crawler(tags: str, robots: RobotsTag) -> None:
    assert scan(tags, ParseOptions(agent="MiniCrawl")).robots == robots


SAID = (
    "<base href=/b/><link rel=canonical href=/c><meta name=robots content=none><title>T</title>"
    "<meta http-equiv=refresh content=0;r><a href=x>"
)


@pytest.mark.parametrize(
    "apart",
    [
        *(
            "<template>{}</template>",
            "<TEMPLATE shadowrootmode=open>{}</Template>",
            "<svg>{}</svg>",
        ),
        "<template><template></template><svg/>{}</template>",
        "<div><svg><svg></svg>{}</svg></div>",
        "<template>{}",  # to the end of the page
    ],
)
def test_tags_in_templates_and_drawings_say_nothing_about_the_page(apart: str) -> None:
    assert scan(apart.format(SAID)) == Markup(links={"r": "", "x": ""})


def test_tags_beside_templates_and_drawings_count() -> None:
    page = scan(f"<svg/></template></svg></noscript><svg></svg>{SAID}<template></template>")
    assert page == scan(SAID)
    assert page.robots.noindex


def test_meta_refresh_is_parsed_as_in_the_vectors(shared_vector: Callable[[str], Path]) -> None:
    cases = json.loads(shared_vector("meta_refresh.json").read_text("utf-8"))
    assert len(cases) == 43
    for case in cases:
        refresh = meta_refresh(case["content"])
        assert refresh == (case["expect"] and tuple(case["expect"])), case


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "<title>T</title><p>1 2 3 <b>4</b> 5 <!-- no -->6"
            "<a href=x>the &amp; <i>anchor</i></a> one<script>no</script> two",
            {"x": "T 1 2 3 4 5 6 the & anchor one two"},
        ),
        # an anchor left open ends at the next
        ("<a href=x>one<a href=y>two", {"x": "one two", "y": "one two"}),
        # a tag that is cut is no text
        (f"<p title='{'no ' * 300}'>yes<a href=x>it</a>{' ' * 590}<p title=no>", {"x": "yes it"}),
        *(
            (f"one{tag}two", {"x": "one two"})
            for tag in ("<A HREF=x>", '<a href="x">', '<a title="<b" href="x">')
        ),
    ],
)
def test_a_link_has_the_words_of_its_anchor_and_some_around_it(
    text: str, words: dict[str, str]
) -> None:
    assert scan(text, ParseOptions(with_words=True)).links == words


@pytest.mark.parametrize(
    ("before", "kept"),
    [
        ("cut " + "x" * 50, "x" * 50),
        ("cut " + "x" * 49, "x" * 49),
        ("kept " + "x" * 45, "kept " + "x" * 45),
        ("cut " + "x" * 47, "x" * 47),
        ("x" * 51, ""),
        ("one  two &amp;  three", "one two & three"),
    ],
)
def test_words_around_a_link_are_whole_and_within_50_characters(before: str, kept: str) -> None:
    found = scan(f"{before} <a href=x>it</a>", ParseOptions(with_words=True)).links["x"]
    assert found.split() == [*kept.split(), "it"]
    backwards = " ".join(reversed(before.split()))
    found = scan(f"<a href=x>it</a> {backwards}", ParseOptions(with_words=True)).links["x"]
    assert found.split() == ["it", *reversed(kept.split())]


MARKUP = """\
<a <a/href= <a\fhref='q'> <a/class=k/href=r> </a> <AREA/HREF=w> <abbr/href=n> href = ' " > < / x y1
&amp; &copy &copy= &#x41; é \0 <!-- --> --!> - ! <? <! </ <p/title= </p/title='<a/href=i>'>
<div> </div> <script> </script> <script </script/ <style> </style> <title> </title>
<textarea> </textarea> <iframe> </iframe> <noscript> </noscript> <xmp> </xmp> <noembed> </noembed>
<noframes> </noframes> <plaintext> <a_href="r"> <a_class="k"_href="s"> <a_id="t"> <p_title="
<p_class="k"> <br_/> <h1>"""
PIECES = st.sampled_from(
    [" ", "\n", "\t", *(piece.replace("_", " ") for piece in re.split("[ \n]", MARKUP))]
)


@given(st.lists(PIECES, max_size=30).map("".join))
@settings(max_examples=500)
def test_the_links_are_those_that_a_browser_finds(page: str) -> None:
    assert set(links(page)) == links_of_the_tree(page)


def test_malformed_pages_hide_no_link(shared_vector: Callable[[str], Path]) -> None:
    pages = [
        case.partition("\n#errors")[0]
        for file in shared_vector("html5lib_tree").glob("*.dat")
        for case in file.read_text("utf-8").split("#data\n")[1:]
    ]
    assert len(pages) == 1308
    assert [page for page in pages if set(links(page)) != links_of_the_tree(page)] == []


def links_of_the_tree(page: str) -> set[str]:
    tags = LexborHTMLParser(page).css("a[href], area[href]")
    return {re.sub("#.*", "#", tag.attributes["href"] or "", flags=re.DOTALL) for tag in tags}
