"""The main text of a page: by hand, on known pages, and on hostile ones."""

import gc
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from json import loads
from os import environ

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("selectolax")

from minicrawl.errors import UsageError
from minicrawl.text.boxes import preorder, read
from minicrawl.text.choice import main_boxes
from minicrawl.text.main import MAIN, MARKDOWN
from minicrawl.web.encoding.detection import decode
from tests.linear_time import TIMES, expect_linear
from tests.shared import Absent, find

SENTENCE = "This sentence is long enough to be one, and says something about the subject itself."
OTHER = "Another one goes on with it for a while, so that there is a paragraph of more than a line."
THIRD = "A third one follows in the same way, and has a point of its own to make about the subject."
LINKS = (
    "<ul>" + "".join(f"<li><a href=/{name}>{name} of the site</a>" for name in "abcde") + "</ul>"
)


def main_text(markup: str) -> str:
    return MAIN(markup, "http://a.example/")


def lines(markup: str) -> list[str]:
    return main_text(markup).splitlines()


def article(inside: str = "", before: str = "", after: str = "") -> str:
    return f"<body>{before}<div><p>{SENTENCE}<p>{OTHER}{inside}</div>{after}</body>"


def test_a_page_without_boilerplate_is_all_main_text() -> None:
    markup = f"<h1>Title</h1><p>{SENTENCE}<p>Short one.<p>{OTHER}"
    assert lines(markup) == ["Title", SENTENCE, "Short one.", OTHER]


def test_a_missing_parser_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(UsageError, match=r"minicrawl\[text\]"):
        main_text("<p>x")


def test_empty_code_blocks_are_dropped() -> None:
    assert lines(article(inside="<pre>\n\n</pre>")) == [SENTENCE, OTHER]


@pytest.mark.parametrize(
    "frame",
    [
        "<nav>N</nav>",
        "<footer>N</footer>",
        "<div role=navigation>N</div>",
        "<div class=sidebar>N</div>",
        "<div id=mainSidebar>N</div>",
        "<section class='post comments-area'>N</section>",
        "<div class='cookie-banner'>N</div>",
        "<div hidden>N</div>",
        "<div aria-hidden=true>N</div>",
        "<div style='color:red; display: none'>N</div>",
        "<script>N</script>",
        "<form>N</form>",
        LINKS,
    ],
)
def test_boilerplate_is_dropped_around_and_inside_the_article(frame: str) -> None:
    framed = frame.replace("N", f"<p>{'Words of no importance to anybody. ' * 4}")
    assert lines(article(inside=framed, before=framed, after=framed)) == [SENTENCE, OTHER]


@pytest.mark.parametrize(
    "attributes",
    [
        "class=has-sidebar",
        "class=category-comments",
        "class='tag-related lang-de'",
        "class=researchers",
        "id=commentary",
    ],
)
def test_names_that_resemble_boilerplate_are_ignored(attributes: str) -> None:
    assert lines(article(f"<div {attributes}><p>{THIRD}</div>")) == [SENTENCE, OTHER, THIRD]


def test_an_id_made_from_a_heading_is_ignored() -> None:
    section = f"<section id=search><h2 id=related>Search</h2><p>{THIRD}</section>"
    sphinx = f"<div class=section id=search><h2>Search</h2><p>{THIRD}</div>"
    assert lines(article(section)) == [SENTENCE, OTHER, "Search", THIRD]
    assert lines(article(sphinx)) == [SENTENCE, OTHER, "Search", THIRD]


def test_a_box_with_most_of_the_page_is_not_boilerplate() -> None:
    assert lines(f"<div class=widget><p>{SENTENCE}<p>{OTHER}</div><p>Short.") == [SENTENCE, OTHER]


def test_hints_are_ignored_if_they_would_drop_almost_everything() -> None:
    threads = "".join(f"<div class=comment><p>{SENTENCE} {number}.</div>" for number in range(3))
    assert lines(threads) == [f"{SENTENCE} {number}." for number in range(3)]


def test_headings_of_dropped_sections_are_dropped() -> None:
    inside = f"<h2>Links</h2>{LINKS}<h2>Full</h2><h3>Below</h3><p>{OTHER}<h2>Related</h2>{LINKS}"
    assert lines(article(inside)) == [SENTENCE, OTHER, "Full", "Below", OTHER]


def test_consecutive_headings_are_kept() -> None:
    inside = f"<h3>impl A</h3><h3>impl B</h3><h3>impl C</h3><p>{OTHER}"
    assert lines(article(inside))[2:] == ["impl A", "impl B", "impl C", OTHER]


def test_the_lead_belongs_to_the_article_below_and_the_title_above_it_does_not() -> None:
    top = f"<header><h1>Title</h1><p>{OTHER}<p>1 May</header>"
    body = f"<div class=article-body>{f'<p>{SENTENCE}' * 5}</div>"
    assert lines(f"<main>{top}{body}</main>") == [OTHER, *[SENTENCE] * 5]
    assert MARKDOWN(f"<main>{top}{body}</main>", "").startswith(f"# Title\n\n{OTHER}\n\n{SENTENCE}")


def test_a_title_inside_the_article_is_its_first_line() -> None:
    assert lines(f"<article><h1>Title</h1>{f'<p>{SENTENCE}' * 5}</article>")[0] == "Title"


def test_several_equal_articles_are_all_kept() -> None:
    articles = "".join(f"<article><p>{SENTENCE} {number}.</article>" for number in range(4))
    assert lines(articles) == [f"{SENTENCE} {number}." for number in range(4)]


STORIES = ("Sun over the hills in April", "Rain over the sea in May", "Snow on the roofs in March")


@pytest.mark.parametrize("own", STORIES)
def test_of_several_articles_that_with_the_title_of_the_page_is_its_main_text(own: str) -> None:
    stories = "".join(
        f"<article><h2>{title}</h2><p>{SENTENCE} {title}.<p>{OTHER} {title}.</article>"
        for title in STORIES
    )
    assert lines(f"<title>{own} - The Paper</title>{stories}") == [
        own,
        f"{SENTENCE} {own}.",
        f"{OTHER} {own}.",
    ]
    assert len(lines(f"<title>The Paper</title>{stories}")) == 9
    others = stories.replace("<article>", "<div>").replace("</article>", "</div>")
    story = f"<article><h1>{TEA}</h1><p>{THIRD}<p>{THIRD}</article>"
    assert lines(f"<title>{TEA}</title>{story}{others}") == [TEA, THIRD, THIRD]


def test_footers_and_cookie_notices_are_no_main_text_however_long_they_are() -> None:
    for frame in (
        "<footer>{}</footer>",
        "<div id=footer>{}</div>",
        "<div class='dark site-footer'>{}</div>",
        "<div id=cookie-consent>{}</div>",
        "<div role=dialog>{}</div>",
    ):
        notice = frame.format(f"<p>{OTHER}" * 20)
        assert lines(f"<div><p>{SENTENCE}<p>{SENTENCE}</div>{notice}") == [SENTENCE] * 2
        assert lines(notice) == [OTHER] * 20
    shell = f"<body><noscript>Enable JavaScript</noscript><footer>{LINKS}<p>Short</footer>"
    assert lines(shell) == []
    assert lines(f"<div class=with-footer><p>{OTHER}</div><p>{SENTENCE}{SENTENCE}")[0] == OTHER


def test_a_lead_that_is_long_compared_with_the_article_is_dropped() -> None:
    top = f"<h1>Title</h1><p>{OTHER}"
    body = f"<article>{f'<p>{SENTENCE}' * 2}</article>"
    assert lines(f"<div>{top}</div>{body}") == [SENTENCE] * 2


def test_text_marked_as_the_article_is_the_main_text() -> None:
    marked = f"<div itemprop=articleBody>{f'<p>{SENTENCE}' * 4}</div>"
    assert lines(f"<div><p>{OTHER}</div>{marked}") == [SENTENCE] * 4


def test_what_a_click_shows_is_not_hidden() -> None:
    for attributes in ("class=accordion-item", "class=faq", "role=tabpanel"):
        assert THIRD in lines(article(f"<div {attributes} hidden><p>{THIRD}</div>"))[2:]


def test_text_that_only_programs_without_scripts_see_is_the_main_text_of_a_shell() -> None:
    post = f"<div class=topic-body><p>{f'{SENTENCE} ' * 9}</div>"
    shell = f"<p>{SENTENCE} {OTHER}<noscript>{post * 3}</noscript>"
    assert len(lines(shell)) > 2
    assert SENTENCE not in lines(f"{article()}<noscript>{post}</noscript>")[2:]


def test_labels_for_screen_readers_are_dropped() -> None:
    for name in ("visually-hidden", "price sr-only", "visuallyhidden"):
        label = f'<span class="{name}">Regular price</span>'
        assert lines(article(f"<p>{label} 12 € of it.")) == [SENTENCE, OTHER, "12 € of it."]


TEA = "Green tea of the first harvest in spring, picked by hand"


def cards(count: int) -> str:
    card = f"<div class=card><a href=/x>{TEA}</a><p>Fine leaves, 100 g"
    return f"<div class=grid>{f'{card}</div>' * count}</div>"


def test_a_shop_keeps_its_cards_and_an_article_drops_them() -> None:
    about = f"<div class=about><p>{SENTENCE}<p>{OTHER}</div>"
    foot = f"<footer><p>{SENTENCE}</footer>"
    assert lines(f"{about}{cards(20)}{foot}").count(TEA) == 20
    said = "<meta property=og:type content=article>"
    assert TEA not in lines(f"{said}{article(inside=f'<p>{OTHER}' * 3)}{cards(20)}{foot}")
    assert lines(f"{said}{about}{cards(20)}{foot}").count(TEA) == 20


def thread(count: int, *, name: str) -> str:
    return "".join(
        f"<div class='post {name} {('even', 'odd')[one % 2]}'>"
        f"<ul><li>Joined 200{one}<li>Senior member</ul>"
        f"<p>{SENTENCE} {one}.<p>{OTHER} {one}.<p>Quote, or report this post</div>"
        for one in range(count)
    )


def test_posts_are_main_text_without_what_they_have_in_common() -> None:
    for name in ("message", "reply", "comment"):
        own = [[f"{SENTENCE} {one}.", f"{OTHER} {one}."] for one in range(5)]
        page = f"<div class=comments>{thread(5, name=name)}</div><p>Short"
        assert lines(page) == [line for both in own for line in both]
    said = "<meta property=og:type content=article>"
    assert len(lines(f"{said}<article>{thread(5, name='forum-reply')}</article>")) == 10


def test_comments_on_an_article_are_dropped_however_long_they_are() -> None:
    story = f"<article>{f'<p>{SENTENCE}' * 6}</article>"
    assert lines(story + thread(90, name="comment")) == [SENTENCE] * 6


def test_reviews_are_dropped_from_the_page_of_a_product() -> None:
    reviews = f"<div class=reviews><p>{THIRD}</div>"
    product = '<script type=application/ld+json>{"@type": "Product"}</script>'
    assert lines(article(reviews)) == [SENTENCE, OTHER, THIRD]
    assert lines(product + article(reviews)) == [SENTENCE, OTHER]
    for kind, text in (
        ("product", [SENTENCE, OTHER]),
        ("product.group", [SENTENCE, OTHER, THIRD]),
    ):
        said = f"<meta property=og:type content={kind}>"
        assert lines(said + article(reviews)) == text


def test_a_teaser_is_kept_unless_it_consists_of_links() -> None:
    inside = f"<div class=teaser><p>{THIRD}</div>"
    linked = f"<div class=teaser><p><a href=/x>{THIRD} Read on.</a></div>"
    assert lines(article(inside + linked)) == [SENTENCE, OTHER, THIRD]


def test_short_lines_are_kept_in_paragraphs_lists_and_tables_only() -> None:
    inside = "<div>12 views</div><p>Usage<ul><li>one</ul><table><tr><td>cell</table>"
    assert lines(article(inside)) == [SENTENCE, OTHER, "Usage", "one", "cell"]


def test_titles_of_admonitions_are_kept() -> None:
    note = f"<div class=admonitionHeading_Gvgb>note</div><div><p>{THIRD}</div>"
    assert lines(article(note)) == [SENTENCE, OTHER, "note", THIRD]


def test_links_beside_paragraphs_are_dropped() -> None:
    inside = f"<div><p>{THIRD}</p><a href=/x>read on</a></div>"
    assert lines(article(inside)) == [SENTENCE, OTHER, THIRD]


def test_links_around_much_text_are_cards_unless_the_page_is_an_article() -> None:
    card = f"<div><a href=/x><p>{OTHER} {THIRD}</a></div>"
    page = article(f"<p>{THIRD * 9}{card}<div><h3>{TEA}</h3><a href=/tea>Read on</a></div>")
    assert lines(page)[3:] == [f"{OTHER} {THIRD}", TEA]
    assert lines(f"<meta property=og:type content=article>{page}")[3:] == []


def test_a_list_of_links_is_text_after_a_colon() -> None:
    assert lines(article(f"<p>See:{LINKS}<p>{THIRD}"))[2:4] == ["See:", "a of the site"]
    assert lines(article(f"<p>See.{LINKS}<p>{THIRD}"))[2:] == ["See.", THIRD]


def test_a_sentence_that_another_place_of_the_page_says_again_is_dropped() -> None:
    twice = f"<div class=mobile><p>{OTHER}<p>{THIRD}</div>"
    assert lines(article(twice)) == [SENTENCE, OTHER, THIRD]
    assert lines(article(f"<p>{OTHER}")) == [SENTENCE, OTHER, OTHER]
    cell = f"<table><tr><td>{OTHER}<td>b<tr><td>c<td>d</table>"
    assert lines(article(cell))[2:] == [OTHER, "b", "c", "d"]
    code = "<pre>{}</pre>".format("x = 1\n" * 20)
    assert lines(article(f"{code}<div>{code}</div>"))[2:] == ["x = 1"] * 40


def test_buttons_that_cards_have_in_common_are_dropped() -> None:
    card = f"<div class=card><p>{SENTENCE} {{}}.<p>Add to the basket now.</div>"
    shop = "".join(card.format(number) for number in range(8))
    assert lines(shop) == [f"{SENTENCE} {number}." for number in range(8)]
    assert len(lines(shop.replace("basket now", "basket of", 1))) > 8


def test_links_into_a_page_that_it_begins_with_are_dropped() -> None:
    skip = "<a href=#main>Skip to content</a>"
    assert lines(f"{skip}<div><a href=#foot>Skip all</a></div>") == []
    assert lines("<p>Short <a href=#note>text</a>") == ["Short text"]


def test_cards_of_users_are_dropped_from_posts() -> None:
    posts = "".join(
        f"<div class=post><div class=user-card><b>Captain</b> of ship {town}</div>"
        f"<p>{SENTENCE} {town}.</div>"
        for town in ("Rome", "Oslo", "Bonn", "Lima")
    )
    assert [line[-5:] for line in lines(posts)] == ["Rome.", "Oslo.", "Bonn.", "Lima."]


def test_tables_of_links_are_kept() -> None:
    inside = "<table><tr><td><a href=/a>size</a><td><a href=/b>int</a></table>"
    assert lines(article(inside)) == [SENTENCE, OTHER, "size", "int"]


def test_a_page_of_links_keeps_them() -> None:
    assert lines(f"<nav><p>menu</nav>{LINKS}") == [f"{name} of the site" for name in "abcde"]


def test_code_is_exact_without_line_numbers() -> None:
    code = "<pre>def f():\n    <span class=linenos>2</span>return  1\n</pre>"
    gutter = "<table><tr><td class=linenos><pre>1\n2</pre><td>"
    assert lines(article(gutter + code))[2:] == ["def f():", "    return  1"]


def test_blocks_in_code_start_lines() -> None:
    assert lines(article("<pre>a<div>b</div>c</pre>"))[2:] == ["a", "bc"]


def test_ruby_and_permalinks_of_headings_are_dropped() -> None:
    inside = "<h2>漢<rt>kan</rt>字<a href=#x>¶</a></h2><p>Text."
    assert lines(article(inside))[2:] == ["漢字", "Text."]
    inside = "<div><a href=#x>§</a></div><h2><a href=#y>#</a> A</h2><p>b."
    assert lines(article(inside))[2:] == ["A", "b."]


@pytest.mark.parametrize("markup", ["", "<frameset>", "<p>", "\0", "<table><tr>", "<br>"])
def test_an_empty_page_has_no_text(markup: str) -> None:
    assert lines(markup) == []


NAMES = "div p ul li a h2 table tr td pre article nav span br b code"
TAGS = st.sampled_from(NAMES.split())
PIECES = st.one_of(
    TAGS.map("<{}>".format),
    TAGS.map("</{}>".format),
    st.sampled_from([SENTENCE, "x", "<a href=#x>#</a>"]),
)


@given(st.lists(PIECES, max_size=40).map("".join))
def test_a_box_is_followed_by_all_boxes_inside_it(markup: str) -> None:
    boxes = read(markup)[0]
    for at, box in enumerate(boxes):
        assert boxes[at : at + box.size] == list(preorder(box))


@given(st.lists(PIECES, max_size=40).map("".join))
def test_main_text_is_a_subsequence_of_the_text_of_the_page(markup: str) -> None:
    boxes = main_boxes(markup)
    everything = "\n".join(box.text for box in boxes if not box.tag)
    at = 0
    for line in main_text(markup).splitlines():
        at = everything.index(line, at) + len(line)
    MARKDOWN(markup, "")


LEAST_F, LEAST_PRECISION, LEAST_RECALL = 0.92, 0.89, 0.94


def known_pages(environment: Mapping[str, str]) -> list[tuple[str, list[str], list[str]]]:
    """Return pages, each with passages that its main text must and must not have."""
    try:
        packed = find("extraction", "pages.tar.xz", environment)
    except Absent as absent:
        pytest.skip(str(absent))
    with tarfile.open(packed) as archive:
        content = {}
        for file in archive:
            if (read := archive.extractfile(file)) is not None:
                content[file.name.rpartition("/")[2]] = read.read()
    known = loads(content["truth.json"]).values()
    return [(decode(content[one["file"]], None)[0], one["with"], one["without"]) for one in known]


def folded(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.slow
def test_the_main_text_of_known_pages_is_found() -> None:
    pages = known_pages(environ)[::3]
    texts = [folded(main_text(markup)) for markup, _, _ in pages]
    found = missed = extra = 0
    for text, (_, wanted, unwanted) in zip(texts, pages, strict=True):
        has = sum(folded(passage) in text for passage in wanted)
        found, missed = found + has, missed + len(wanted) - has
        extra += sum(folded(passage) in text for passage in unwanted)
    precision, recall = found / (found + extra), found / (found + missed)
    assert precision >= LEAST_PRECISION
    assert recall >= LEAST_RECALL
    assert 2 * precision * recall / (precision + recall) >= LEAST_F


PARAGRAPH = f"<p>{SENTENCE}</p>"
HOSTILE: dict[str, tuple[int, Callable[[int], str]]] = {
    "links": (20_000, lambda n: "<a href=/x>link</a> " * n),
    "nested lists": (1000, lambda n: "<ul><li>x" * n),
    "nested articles": (1000, lambda n: "<article class=post-content>x" * n),
    "articles": (4000, lambda n: f"<article>{PARAGRAPH}</article>" * n),
    "long class": (250_000, lambda n: f"<div class='{'a-B ' * n}'>{PARAGRAPH}</div>"),
    "long word of an id": (1_000_000, lambda n: f"<div id={'a' * n}>{PARAGRAPH}</div>"),
    "posts": (4000, lambda n: f"<div class=post>{PARAGRAPH}</div>" * n),
    "hidden": (20_000, lambda n: f"<div hidden>{PARAGRAPH}</div>" * n),
    "nested headers": (1000, lambda n: "<header>x" * n),
    "notes": (5000, lambda n: "".join(f"<p>a<a href=#{i}>{i}</a><p id={i}>b" for i in range(n))),
    "spans": (3000, lambda n: f"<table>{'<tr><td rowspan=999 colspan=150>x<td>y' * n}"),
    "figures": (5000, lambda n: "<figure><img src=a><figcaption>x</figcaption></figure>" * n),
    "headings": (10_000, lambda n: "<h2>x</h2>" * n),
    "nested headings": (1000, lambda n: "<div><h2>x</h2>" * n),
    "nested tables": (1000, lambda n: "<table><tr><td>" * n),
    "rows": (4000, lambda n: f"<table>{'<tr><td>x<td>y' * n}"),
    "a wide row": (10_000, lambda n: f"<table><tr>{'<td>x' * n}"),
    "breaks": (20_000, lambda n: "x<br>" * n),
    "marks": (20_000, lambda n: f"<p>{'[*_' * n}"),
    "backticks": (200_000, lambda n: f"<pre>{'`' * n}</pre>"),
}
"""Number of repetitions and a function that makes the page, by kind."""
MOST_GROWTH = 30


@pytest.fixture
def _no_garbage_collection() -> Iterator[None]:
    """Turn off garbage collection, as in the process that makes the texts of pages."""
    gc.disable()
    yield
    gc.enable()


def texts_of(markup: str) -> tuple[str, str]:
    return main_text(markup), MARKDOWN(markup, "http://a.example/")


@pytest.mark.proof
@pytest.mark.usefixtures("_no_garbage_collection")
@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_pages_take_linear_time_and_room(kind: str) -> None:
    times, page = HOSTILE[kind]
    little, much = page(times // TIMES), page(times)
    assert all(len(text) < MOST_GROWTH * len(much) for text in texts_of(much))
    expect_linear(partial(texts_of, little), partial(texts_of, much), kind)
