"""References of a page as they are written: links, assets and anchors."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.html.anchors import LONGEST_TEXT
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.references import (
    MOST_OF_A_STYLE,
    Reference,
    manifest_references,
    references,
    style_references,
    style_targets,
)
from minicrawl.web.urls import resolve

URL = "http://a.example/"


def links(markup: str) -> list[Reference]:
    return references(markup).links


def test_a_link_has_its_text_and_its_rel() -> None:
    markup = '<p>See <a href="../b?x=1&amp;y#z" rel="nofollow ugc"> the <b>best</b>\n page </a>.'
    assert links(markup) == [Reference("../b?x=1&y#z", "the best page", "nofollow ugc", "a")]


@pytest.mark.parametrize(
    ("markup", "role"),
    [
        ("<a href=x>", "link"),
        ("<a href=x rel='ugc NoFollow'>", "nofollow"),
        ("<area href=x>", "link"),
        ("<iframe src=x></iframe>", "frame"),
        ("<link href=x rel=canonical>", "canonical"),
        ("<link href=x rel=alternate hreflang=de>", "alternate"),
        ("<link href=x rel=next>", "next"),
    ],
)
def test_a_link_has_a_role(markup: str, role: str) -> None:
    assert [link.role for link in links(markup)] == [role]


def test_the_alt_text_of_an_image_is_the_text_of_its_link() -> None:
    found = references('<a href="/"><img src="logo.png" alt="Home"></a>')
    assert found.links == [Reference("/", "Home", "", "a")]
    assert found.assets == [Reference("logo.png", "", "", "image")]


def test_repeated_links_are_repeated() -> None:
    assert [link.text for link in links("<a href=a>one</a><a href=a>two</a>")] == ["one", "two"]


def test_an_anchor_that_is_not_closed_ends_with_the_next_one_or_the_page() -> None:
    assert [link.text for link in links("<a href=a>one<a href=b>two")] == ["one", "two"]


def test_texts_are_cut() -> None:
    (link,) = links(f"<a href=a>{'x ' * 10_000}</a>")
    assert len(link.text) <= LONGEST_TEXT


def test_frames_areas_and_relations_are_links() -> None:
    markup = (
        '<link rel=next href=2><link rel="shortcut icon" href=i><link rel=pingback href=p>'
        "<map><area href=m alt=Map></map><iframe src=f></iframe><a name=here>no link</a>"
    )
    found = references(markup)
    assert [(link.written, link.kind, link.text) for link in found.links] == [
        ("2", "link", ""),
        ("m", "area", "Map"),
        ("f", "iframe", ""),
    ]
    assert found.anchors == {"here"}


def test_assets_have_a_kind() -> None:
    markup = (
        "<link rel=stylesheet href=s.css><link rel=icon href=f.ico><script src=s.js></script>"
        "<script>no('<img src=x>')</script><!-- <img src=y> --><video src=v poster=p></video>"
        "<img alt=empty><object data=o></object>"
    )
    assert [(asset.written, asset.kind) for asset in references(markup).assets] == [
        *(("s.css", "style"), ("f.ico", "media"), ("s.js", "script")),
        *(("v", "media"), ("p", "media"), ("o", "media")),
    ]


def test_images_that_other_sites_show_are_previews_and_no_assets() -> None:
    found = references(
        '<meta property="og:image" content=" /card.png ">'
        '<meta name="twitter:image" content="/tweet.png"><meta name="description" content="/x.png">'
        f'<meta property="og:image" content=""><meta property="og:image" content="{"x" * 9000}">'
    )
    assert (found.previews, found.assets) == (["/card.png", "/tweet.png"], [])


def test_browsers_load_nothing_of_a_template() -> None:
    markup = "<template><template><img src=a></template><a href=b id=c>d</a></template><img src=e>"
    found = references(markup)
    assert [one.written for one in found.assets] == ["e"]
    assert (found.links, found.anchors) == ([], set())
    assert [one.written for one in references("</template><template><img src=a>").assets] == []
    assert [one.written for one in references("<img src=a>").assets] == ["a"]


def test_the_first_base_counts_and_ids_are_anchors() -> None:
    apart = '<svg><base href="/v/"></svg><template><base href="/w/"></template>'
    found = references(apart + '<base href="/x/"><base href="/y/"><h2 id="über">A</h2><p id="">')
    assert found.base == "/x/"
    assert found.anchors == {"über"}


def test_urls_that_are_too_long_are_left_out() -> None:
    found = references(f"<a href={'x' * 9000}>a</a><img src={'x' * 9000}>")
    assert found.links == found.assets == []


TAGS = """
    <a_href=b> <a_href='/c?x=1&amp;y'> <A_HREF="d"_> <area_href=e> <iframe_src=f> <frame_src=g>
    <link_rel=next_href=h> <link_rel=alternate_hreflang=de_href=i> <a_rel=nofollow_href=j> </a>
    <link_rel=canonical_href=k> <p_title='>'> <p> text < <!--_x_--> <script> </script> <title>
    </title> <svg> </svg> <noscript> </noscript> <textarea> </textarea> <b> </b> <img_src=l>
"""


@given(st.lists(st.sampled_from(TAGS.split()), max_size=20).map("".join))
def test_references_include_all_links_of_a_crawl(tags: str) -> None:
    markup = tags.replace("_", " ")
    crawled = parse_page(markup.encode(), URL, {}).links
    resolved = [resolve(link.written, URL) for link in links(markup)]
    assert set(crawled) <= {found.url for found in resolved if found}


def test_styles_in_a_page_refer_to_other_styles_images_and_fonts() -> None:
    markup = (
        "<style>@import 'x.css'; b { background: url(i.png) }</style>"
        "<p style=\"background: url('j.png')\">text<p style='color: red'>"
    )
    assert [(asset.written, asset.kind) for asset in references(markup).assets] == [
        ("x.css", "style"),
        ("i.png", "media"),
        ("j.png", "media"),
    ]


@pytest.mark.parametrize(
    ("style", "written"),
    [
        ('@import url("a.css") screen; @IMPORT url(b.css)', ["a.css", "b.css"]),
        (
            "@font-face { src: URL( 'e.woff2' ) format(\"woff2\"), url(e.woff) }",
            ["e.woff2", "e.woff"],
        ),
        ("b { fill: url(#gradient); width: 1px } @media print { }", []),
        ("url(", []),
        ("url()", []),
        ("url('a b.png')", ["a b.png"]),
        (f"url({'x' * 10_000})", []),
        ("a::before { content: 'url is a word' }", []),
        ("a::before { content: 'url(b)' } /* url(c) */ b { src: url(d) } /* url(e)", ["d"]),
        ("image-set('a.png' 1x, \"b.png\" type('image/png'))", ["a.png", "b.png"]),
        ("@namespace svg url(http://www.w3.org/2000/svg); b { src: url(c) }", ["c"]),
        (r"url(a\(b\29.png) url(c\d800.png)", ["a(b).png", "c.png"]),
    ],
)
def test_urls_in_a_style(style: str, written: list[str]) -> None:
    assert [found.written for found in style_references(style)] == written


@pytest.mark.parametrize(
    ("srcset", "written"),
    [
        ("a.png 1x, b.png 2x", ["a.png", "b.png"]),
        ("a.png 1x,b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("/w_1,h_2/a.png 300w, b.png", ["/w_1,h_2/a.png", "b.png"]),
        ("a.png", ["a.png"]),
        (" , ", []),
    ],
)
def test_each_image_of_a_set(srcset: str, written: list[str]) -> None:
    found = references(f'<img srcset="{srcset}">').assets
    assert [asset.written for asset in found] == written


@pytest.mark.parametrize(
    ("markup", "written"),
    [
        ("<img data-src=a.png data-lazy=true data-other=b.png>", ["a.png"]),
        ("<div data-bg='url(a.png)'>", ["a.png"]),
        ("<iframe data-src=a.html></iframe>", []),
        ("<svg><use href='a.svg#b'/><use href='#c'/></svg>", ["a.svg#b"]),
        ("<img src=a.png>" * 10_001, ["a.png"] * 10_000),
        ("<style>" + "b { c: url(d) }" * 10_001 + "</style><img src=a.png>", ["d"] * 10_000),
    ],
)
def test_lazy_and_other_assets(markup: str, written: list[str]) -> None:
    assert [asset.written for asset in references(markup).assets] == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"icons": [{"src": "a.png"}, {"src": 7}, 8], "name": "b"}', ["a.png"]),
        ('{"shortcuts": [{"icons": [{"src": "c.png"}]}], "screenshots": 9}', ["c.png"]),
        ("{", []),
        ("[" * 100_000, []),
    ],
)
def test_icons_in_a_manifest(text: str, written: list[str]) -> None:
    assert [found.written for found in manifest_references(text)] == written


def test_the_targets_of_a_style_are_absolute_and_limited() -> None:
    style = (
        b"p:before { content: '<b' } @import 'more.css'; a { background: url(data:,x) url(\xe9) }"
    )
    assert style_targets(style, "http://a.example/d/s.css", "text/css; charset=latin1") == [
        ("http://a.example/d/more.css", "style"),
        ("http://a.example/d/%C3%A9", "media"),
    ]
    assert len(style_targets(b"url(a)" * 2000, "http://a.example/", None)) == MOST_OF_A_STYLE
