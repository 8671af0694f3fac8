"""Links as they are written: an entry says what was written, and mostly next to nothing."""

from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.markup import LONGEST_TEXT, AnchorTag
from minicrawl.web.references import LONGEST_FORM, entries, joined, parted, read_entry
from minicrawl.web.urls import canonical

OWN = "http://a.example/docs/api/page.html?v=1"
WRITTEN = ParseOptions(with_written=True)


def said(markup: str, url: str = OWN) -> dict[str, AnchorTag]:
    """What each link of a page says, from its entry."""
    page = parse_page(markup.encode(), url, {"content-type": "text/html; charset=utf-8"}, WRITTEN)
    assert parted(joined(page.written)) == list(page.written or [""])
    told = zip(page.links, page.written, strict=True)
    return {link: read_entry(entry, url, link) for link, entry in told}


def test_without_the_wish_nothing_is_collected() -> None:
    assert parse_page(b"<a href=b>B</a>", OWN, {}).written == ()
    assert said("no link") == {}


def test_usual_ways_to_write_a_link_take_no_room() -> None:
    markup = (
        "<a href='b.html'></a><a href=../up></a><a href=/root/c></a><a href=http://a.example/d>"
    )
    page = parse_page(markup.encode(), OWN, {}, WRITTEN)
    assert page.written == ("", "", "/", "=")
    assert [one.written for one in said(markup).values()] == [
        "b.html",
        "../up",
        "/root/c",
        "http://a.example/d",
    ]


def test_a_link_is_as_it_was_written() -> None:
    for href in (
        "b.html#part two",
        "./b.html",
        "../api/b.html",
        "HTTP://A.EXAMPLE/docs/x#y",
        "//other.example/z#q",
        "/docs/../c?x=1#",
        "?v=2",
        "b;jsessionid=12",
    ):
        (one,) = said(f'<a href="{href}">x</a>').values()
        assert one == AnchorTag(href, "x")


def test_texts_and_relations_are_without_markup_and_bounded() -> None:
    found = said(
        "<a rel='noopener\n external' href=b>Be <b>very</b>\n good &amp; kind</a>"
        f"<a href=c>{'long ' * 100}</a><a href=d><img alt='An image' src=x></a>"
        "<a href=e><img src=x></a><map><area href=f alt='A place'></map>"
    )
    b, c, d, e, f = found.values()
    assert b == AnchorTag("b", "Be very good & kind", "noopener external")
    assert len(c.text) == LONGEST_TEXT
    assert (d.text, e.text, f.text) == ("An image", "", "A place")


def test_of_several_anchors_the_first_with_a_text_counts() -> None:
    (one,) = said("<a href='b#1'></a><a href=b>Second</a><a href='./b'>third</a>").values()
    assert one == AnchorTag("b", "Second")


def test_a_link_that_is_no_anchor_says_nothing() -> None:
    found = said("<link rel=next href=n><iframe src=http://b.example/i></iframe>")
    assert found == {
        "http://a.example/docs/api/n": AnchorTag("n"),
        "http://b.example/i": AnchorTag("http://b.example/i"),
    }


def test_with_another_base_nothing_is_relative_to_the_page() -> None:
    found = said("<base href=/other/><a href=b>B</a><a href='/c'>C</a><a href=http://a.example/d>")
    assert [one.written for one in found.values()] == ["b", "/c", "http://a.example/d"]


def test_what_would_part_entries_is_left_out() -> None:
    (one,) = said("<a href='b?\x1e=\x1f1' rel='x\x1ey'>a\x1db</a>").values()
    assert one == AnchorTag("b?=1", "a b", "x y")


def test_a_very_long_link_is_kept_as_where_it_leads() -> None:
    (link,) = said(f"<a href='./{'x' * LONGEST_FORM}#y'>t</a>").items()
    assert link[1] == AnchorTag(link[0], "t")


def test_other_links_of_a_page_get_no_anchor() -> None:
    anchors = {"b": AnchorTag("b", "B"), "mailto:x": AnchorTag("mailto:x", "M")}
    assert entries(anchors, ["http://a.example/c"], OWN, OWN) == ("",)


parts = st.text("ab.%-", min_size=1, max_size=3)
hrefs = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "/", "./", "../", "../../", "//b.example/", "http://a.example/"]),
    st.lists(parts, min_size=1, max_size=4).map("/".join),
    st.sampled_from(["", "/", "?a=b", "?a/b"]),
    st.sampled_from(["", "#", "#x", "#x y"]),
)


@given(st.lists(hrefs, max_size=5), st.sampled_from(["/", "/p", "/d/e/p?q/r", "/d/"]))
def test_every_link_is_as_it_was_written(written: list[str], path: str) -> None:
    own = f"http://a.example{path}"
    page = "".join(f'<a href="{href}">{number}</a>' for number, href in enumerate(written))
    for link, one in said(page, own).items():
        assert one.written == written[int(one.text)]
        assert canonical(one.written, own) == link
