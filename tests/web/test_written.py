"""Entries that store how links are written; most entries are empty or tiny."""

from hypothesis import given, strategies as st

from minicrawl.web.html.anchors import LONGEST_TEXT, AnchorTag
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.html.written_links import LONGEST_FORM, entries, joined, parted, read_entry
from minicrawl.web.urls import canonical

OWN = "http://a.example/docs/api/page.html?v=1"
WRITTEN = ParseOptions(with_written=True)


def tags(markup: str, url: str = OWN) -> dict[str, AnchorTag]:
    """Return the tag of each link of a page, read from its entry."""
    page = parse_page(markup.encode(), url, {"content-type": "text/html; charset=utf-8"}, WRITTEN)
    assert parted(joined(page.written)) == list(page.written or [""])
    entry_of = zip(page.links, page.written, strict=True)
    return {link: read_entry(entry, url, link) for link, entry in entry_of}


def test_without_the_option_nothing_is_collected() -> None:
    assert parse_page(b"<a href=b>B</a>", OWN, {}).written == ()
    assert tags("no link") == {}


def test_common_forms_of_links_have_short_entries() -> None:
    markup = (
        "<a href='b.html'></a><a href=../up></a><a href=/root/c></a><a href=http://a.example/d>"
    )
    page = parse_page(markup.encode(), OWN, {}, WRITTEN)
    assert page.written == ("", "", "/", "=")
    written = [tag.written for tag in tags(markup).values()]
    assert written == ["b.html", "../up", "/root/c", "http://a.example/d"]


def test_other_forms_of_links_are_kept_as_written() -> None:
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
        (one,) = tags(f'<a href="{href}">x</a>').values()
        assert one == AnchorTag(href, "x")


def test_texts_and_relations_have_no_markup_and_a_maximal_length() -> None:
    found = tags(
        "<a rel='noopener\n external' href=b>Be <b>very</b>\n good &amp; kind</a>"
        f"<a href=c>{'long ' * 100}</a><a href=d><img alt='An image' src=x></a>"
        "<a href=e><img src=x></a><map><area href=f alt='A place'></map>"
    )
    b, c, d, e, f = found.values()
    assert b == AnchorTag("b", "Be very good & kind", "noopener external")
    assert len(c.text) == LONGEST_TEXT
    assert (d.text, e.text, f.text) == ("An image", "", "A place")


def test_the_first_anchor_with_a_text_counts() -> None:
    (one,) = tags("<a href='b#1'></a><a href=b>Second</a><a href='./b'>third</a>").values()
    assert one == AnchorTag("b", "Second")


def test_a_link_that_is_no_anchor_has_no_text() -> None:
    found = tags("<link rel=next href=n><iframe src=http://b.example/i></iframe>")
    assert found == {
        "http://a.example/docs/api/n": AnchorTag("n"),
        "http://b.example/i": AnchorTag("http://b.example/i"),
    }


def test_with_a_base_element_links_are_kept_as_written() -> None:
    found = tags("<base href=/other/><a href=b>B</a><a href='/c'>C</a><a href=http://a.example/d>")
    assert [one.written for one in found.values()] == ["b", "/c", "http://a.example/d"]


def test_separators_of_entries_are_removed_from_values() -> None:
    (one,) = tags("<a href='b?\x1e=\x1f1' rel='x\x1ey'>a\x1db</a>").values()
    assert one == AnchorTag("b?=1", "a b", "x y")


def test_a_very_long_link_is_kept_as_its_target() -> None:
    (link,) = tags(f"<a href='./{'x' * LONGEST_FORM}#y'>t</a>").items()
    assert link[1] == AnchorTag(link[0], "t")


def test_links_without_an_anchor_have_empty_entries() -> None:
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
def test_every_link_is_restored_as_written(written: list[str], path: str) -> None:
    own = f"http://a.example{path}"
    page = "".join(f'<a href="{href}">{number}</a>' for number, href in enumerate(written))
    for link, one in tags(page, own).items():
        assert one.written == written[int(one.text)]
        assert canonical(one.written, own) == link
