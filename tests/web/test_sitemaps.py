import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from minicrawl.web.sitemaps.sitemap import MAX_BYTES, MAX_URLS, Sitemap, parse
from minicrawl.web.urls import MOST_CHARS

AT = "https://example.com/maps/sitemap.xml"
ROOT = "https://example.com"


def pages(body: str | bytes) -> list[str]:
    """Return the pages of a sitemap that lists no other sitemap, without `ROOT`."""
    sitemap = parse(body if isinstance(body, bytes) else body.encode(), AT)
    assert sitemap.sitemaps == ()
    return [page.removeprefix(ROOT) for page in sitemap.pages]


def urlset(*locations: str) -> str:
    return f"<urlset>{''.join(f'<url><loc>{it}</loc></url>' for it in locations)}</urlset>"


IMAGE = "<image:image><image:loc>/a.png</image:loc></image:image>"
RSS = (
    "<rss><channel><link>/home</link><item><title>A</title><link>/a</link></item>"
    '<item xmlns:atom="http://www.w3.org/2005/Atom"><atom:link href="/b"/>'
    '<atom:link rel="self" href="/no"/></item></channel></rss>'
)
ATOM = (
    '<feed xmlns="http://www.w3.org/2005/Atom"><link href="/home"/><entry><link href="/a"/>'
    '<link rel="alternate" href="/b"/><link rel="edit" href="/no"/></entry></feed>'
)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n<!-- all -->\n<url>\n'
            "<loc>\n https://example.com/a </loc><lastmod>2020</lastmod></url>"
            "<url><priority>1</priority><loc>https://other.example/b</loc></url>\n</urlset>\n",
            ["/a", "https://other.example/b"],
        ),
        ("<urlset><loc>/a</loc></urlset>", ["/a"]),
        *((feed, ["/a", "/b"]) for feed in (RSS, ATOM)),
        # a guid is the URL of an item without a link, unless it says that it is only a name
        *(
            (f"<rss><channel><item>{item}</item><item><link>/z</link></item></rss>", found)
            for item, found in (
                (f"<guid>{ROOT}/a?b&amp;c</guid>", ["/a?b&c", "/z"]),
                (f"<guid isPermaLink='true'>{ROOT}/a</guid><title>A</title>", ["/a", "/z"]),
                (f"<guid isPermaLink='False'>{ROOT}/a</guid>", ["/z"]),
                ("<guid>tag:a,2026:b</guid><guid/>", ["/z"]),
                (f"<guid>{ROOT}/a</guid><link>/b</link>", ["/b", "/z"]),
                (f"<link>/b</link><guid>{ROOT}/a</guid>", ["/b", "/z"]),
                (f"<guid>{ROOT}/a</guid><item><guid>{ROOT}/b</guid></item>", ["/a", "/b", "/z"]),
            )
        ),
        # links are relative to `xml:base`, which is relative to that of the element around it
        (
            f"<feed xml:base='{ROOT}/b/'><entry><link href='1'/></entry><entry xml:base='c/'>"
            "<link href='2?a&amp;b'/><link xml:base='/d/' href='3'/><link href='4'/></entry>"
            "<entry xml:base='mailto:a'><link href='5'/></entry></feed>",
            ["/b/1", "/b/c/2?a&b", "/d/3", "/b/c/4", "/b/5"],
        ),
        ("<feed xml:base='/b/'><entry><link href='1'/></entry></feed>", ["/b/1"]),
        ("<feed xml:base='/b/'><entry><link href='http://['/></entry></feed>", []),
        # text is a list of absolute URLs
        (
            "https://example.com/a\r\n  HTTP://Example.com/b \r\rnot a url\n/relative\n"
            "https://x y\n",
            ["/a", "http://example.com/b"],
        ),
        # URLs are canonical, and each is named once
        (urlset("a", "/maps/a", "https://EXAMPLE.com/maps/a#top", "mailto:a@b.c"), ["/maps/a"]),
        # locations of images are no pages, and namespaces are ignored
        *(
            (f"<urlset{declared}><url>{IMAGE}<loc>/a</loc></url></urlset>", ["/a"])
            for declared in (
                "",
                ' xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"',
            )
        ),
        *(
            (f"<s:urlset{declared}><s:url><s:loc>/a</s:loc></s:url></s:urlset>", ["/a"])
            for declared in (
                "",
                ' xmlns:s="http://www.sitemaps.org/schemas/sitemap/0.9"',
                ' xmlns:s="?"',
            )
        ),
        # a truncated sitemap is read up to its end, and a URL cut short is another URL
        (urlset("/a", "/b").partition("b<")[0], ["/a"]),
        (urlset("/a", "/b").replace("</url>", ""), ["/a", "/b"]),
        # empty locations, and locations with tags
        (urlset("", " ", "/a<b>c</b>d", "/e"), ["/e"]),
        # ampersands outside of references are kept, and references of all forms decoded
        (
            urlset("/a?b=1&amp;c=2&#38;d=3&#x26;e=4&f=5&g;"),
            ["/a?b=1&c=2&d=3&e=4&f=5&g;"],
        ),
        (
            urlset("<![CDATA[/a?b=1&c=2&amp;d=3]]>", "/a?b&c"),
            ["/a?b=1&c=2&amp;d=3", "/a?b&c"],
        ),
        (urlset("/a", "<![CDATA[/b"), ["/a"]),
        (
            urlset("/&#97;&#x62;&#X63;&#0000000000100;&#x1F600;&#;&#x;"),
            ["/abcd%F0%9F%98%80&"],
        ),
        (urlset("/a<!-- no -->b<![CDATA[c&d]]>e"), ["/abc&de"]),
        # a line that is not UTF-8 is no URL
        (
            b"https://example.com/a\nhttps://example.com/\xff\nhttps://example.com/b",
            ["/a", "/b"],
        ),
    ],
)
def test_a_sitemap_names_pages(body: str | bytes, found: list[str]) -> None:
    assert pages(body) == found


@pytest.mark.parametrize(
    "location", ["<sitemap><loc>/a.xml.gz</loc></sitemap>", "<loc>/a.xml.gz</loc>"]
)
def test_an_index_names_sitemaps(location: str) -> None:
    body = f"<sitemapindex>{location}</sitemapindex>".encode()
    assert parse(body, AT) == Sitemap(sitemaps=(f"{ROOT}/a.xml.gz",))


def test_other_documents_name_no_pages() -> None:
    html = b"<!DOCTYPE html><html><head><link href=/a rel=next></head><a href=/b>b</a></html>"
    for body in (b"", b"<", b"<!-- ", b"Not found", b"\x1f\x8b", b"\x00\xff", html):
        assert parse(body, AT) == Sitemap()


def test_tracking_parameters_are_removed_and_the_original_kept() -> None:
    body = urlset("/a?id=1", "/b?gclid=1").encode()
    stripped, kept = parse(body, AT), parse(body, AT, strip_marks=False)
    assert stripped.pages == (f"{ROOT}/a?id=1", f"{ROOT}/b")
    assert stripped.originals == ((f"{ROOT}/b", f"{ROOT}/b?gclid=1"),)
    assert kept == Sitemap(pages=(f"{ROOT}/a?id=1", f"{ROOT}/b?gclid=1"))


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        *(("utf-8", "utf-8"), ("utf-8", "utf-8-sig"), ("utf-16", "utf-16")),
        *(("utf-16", "utf-16-le"), ("utf-16", "utf-16-be"), ("iso-8859-1", "latin-1")),
        # a wrong declaration does no harm
        *(("utf-16", "utf-8"), ("x-foo", "utf-8")),
    ],
)
def test_a_byte_order_mark_or_the_declaration_tells_the_encoding(
    declared: str, encoding: str
) -> None:
    body = f'<?xml version="1.0" encoding="{declared}"?>' + urlset("/ü")
    assert pages(body.encode(encoding)) == ["/%C3%BC"]


def test_blanks_may_stand_before_a_declaration_and_text_may_have_a_mark() -> None:
    body = '\n <?xml version="1.0" encoding="iso-8859-1"?>' + urlset("/ü")
    assert pages(body.encode("latin-1")) == ["/%C3%BC"]
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert pages("https://example.com/ü\n".encode(encoding)) == ["/%C3%BC"]


BROKEN = [
    *("<1>", "< url>", "<>", "</>", "<url", "<url a", "<url a=>", "<a b='<'>", "<!foo>", "]]>"),
    *("<!--a--b-->", "<!-- ", "<?php foo", "<![CDATA[", "<!DOCTYPE a>", "<?xml version='1.0'?>"),
    *("</urlset>", "</a>", "<a:b:c>", "<url a='1' a='2'>", "<url>" * 3000, "</url></loc>", "&"),
    *("<", "&#55357;&#56832;", "<t>&#xD800;</t>", "&#0;", "&#x1b;", "&#99999999;", "\x01"),
    *("\udcff", "<url><loc>/x</url", "<url><loc>/x<loc>", "<loc", "<url><loc>/x"),
    *(f"<!--{'x' * 99_999}-->", f"<url><loc><![CDATA[{'x' * 99_999}]]></loc></url>"),
    *(
        f"<url><loc>/{it}</loc></url>"
        for it in (
            *("&#xD800;", "&#55357;", "&#0;", "&#x000;", "\x01", "&#x1b;", "&#99999999;", "\udcff"),
            *("<b>", "<1>", "<", "<!--", "<![CDATA[", "a" * 70_000, "&#65534;"),
        )
    ),
]


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_markup_loses_no_url_before_or_after_it(broken: str) -> None:
    body = urlset("/a", "/b").replace("</urlset>", f"{broken}{urlset('/c', '/d')}</urlset>")
    assert pages(body.encode(errors="surrogateescape")) == ["/a", "/b", "/c", "/d"]


@pytest.mark.parametrize("broken", ["<1>", "&#xD800;", "<link href='/&#xD800;'/>", "<link>/\x01"])
def test_a_broken_entry_of_a_feed_loses_only_itself(broken: str) -> None:
    entries = ("<link href='/a'/>", broken, "<link href='/b' rel=\"alternate\"/>")
    atom = "".join(f"<entry>{it}</entry>" for it in entries)
    rss = "".join(f"<item>{it}</item>" for it in ("<link>/a</link>", broken, "<link>/b</link>"))
    assert pages(f"<feed>{atom}</feed>") == pages(f"<rss>{rss}</rss>") == ["/a", "/b"]


def test_a_gzip_file_is_unpacked_as_far_as_it_goes() -> None:
    body = "".join(f"https://example.com/{n * n * n:x}\n" for n in range(50_000)).encode()
    packed = gzip.compress(body)
    whole = pages(packed)
    assert len(whole) == 50_000
    assert pages(packed + b"trailing bytes" + packed) == whole
    half = pages(packed[: len(packed) // 2])
    assert 0 < len(half) < 50_000
    assert half[:-1] == whole[: len(half) - 1]
    assert pages(packed[:-8] + bytes(8))[:1_000] == whole[:1_000], "a checksum that is wrong"


@pytest.mark.slow
def test_a_sitemap_is_read_up_to_a_number_of_bytes_packed_or_not() -> None:
    inside = b"https://example.com/a\n".ljust(MAX_BYTES - 1) + b"\nhttps://example.com/b\n"
    for body in (inside, gzip.compress(inside, compresslevel=0)):
        found = parse(body, AT)
        assert found.pages == (f"{ROOT}/a",)
        assert f"{MAX_BYTES:,} bytes" in found.limit
    assert not parse(inside[: MAX_BYTES - 1], AT).limit


@pytest.mark.slow
def test_no_more_urls_are_taken_than_a_sitemap_may_have() -> None:
    many = [f"https://example.com/{n}" for n in range(MAX_URLS + 1)]
    for write in (urlset, lambda *urls: "\n".join(urls)):
        found = parse(write(*many).encode(), AT)
        assert found.pages == tuple(many[:-1])
        assert f"{MAX_URLS:,} URLs" in found.limit
        assert not parse(write(*many[:2]).encode(), AT).limit


@pytest.mark.slow
@pytest.mark.large
def test_the_number_of_tags_is_limited_and_that_of_leaves_is_not() -> None:
    found = parse(f"<urlset><loc>/a</loc>{'<a/>' * 800_000}<loc>/b</loc></urlset>".encode(), AT)
    assert found.pages == (f"{ROOT}/a",)
    assert "800,000 tags" in found.limit
    leaves = "<b>x</b>" * 810_000
    assert pages(f"<urlset><loc>/a</loc>{leaves}<loc>/b</loc></urlset>") == ["/a", "/b"]


def test_a_gzip_file_may_grow_at_most_a_hundredfold() -> None:
    line = b"https://example.com/a\n"
    bomb = gzip.compress(line + bytes(20_000_000))
    found = parse(bomb, AT)
    assert len(bomb) > 1024 * 1024 // 100
    assert f"{100 * len(bomb):,} bytes" in found.limit
    small = gzip.compress(line * 40_000)
    assert len(small) * 100 < len(line) * 40_000 < 1024 * 1024
    assert parse(small, AT) == Sitemap(pages=(f"{ROOT}/a",))


def test_the_characters_of_all_urls_together_are_limited() -> None:
    """The characters as written count beside those of the canonical URLs."""
    written = [f"{n:04}ü{'a' * 950}?gclid=1" for n in range(MOST_CHARS // 1000)]
    found = parse(urlset(*(f"/{one}" for one in written)).encode(), AT)
    assert f"{MOST_CHARS:,} characters" in found.limit
    both = [len(f"{ROOT}/{one}%C3%BC{one}") for one in written]
    assert len(written) // 3 < len(found.pages) < len(written)
    assert sum(both[: len(found.pages) - 1]) <= MOST_CHARS
    index = "".join(f"<sitemap><loc>/{one}</loc></sitemap>" for one in written)
    maps = parse(f"<sitemapindex>{index}</sitemapindex>".encode(), AT).sitemaps
    assert len(maps) == len(found.pages)


def test_no_entity_is_expanded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    document = f'<!DOCTYPE a [<!ENTITY l0 "ha">{laughs}<!ENTITY f SYSTEM "file:///etc/hostname">]>'
    assert pages(document + urlset("/a?&l9;", "/b?&f;")) == ["/a?&l9;", "/b?&f;"]


@pytest.mark.parametrize(
    ("name", "count", "first"),
    [
        ("atom.xml", 2, "http://example.org/2003/12/13/atom03"),
        (
            "hebdenbridgetimes-articles-sitemap.xml",
            74,
            "http://www.hebdenbridgetimes.co.uk/news/local/"
            "video-tour-de-yorkshire-in-calderdale-1-7242580",
        ),
        ("pagemaps-sitemap.xml", 2, "http://www.example.com/foo"),
        ("sitemap-images.xml", 1, "http://www.example.com/images/some_image_landing_page.html"),
        ("sitemap-mobile.xml", 3, "http://www.example.com/mobile-friendly-1/"),
        ("sitemap-news.xml", 2, "http://www.example.org/business/article55.html"),
        ("sitemap-videos-tvshow.xml", 1, "https://example.org/my-tv-show/23/13/"),
        ("sitemap-videos.xml", 3, "http://www.example.com/videos/some_video_landing_page.html"),
        ("sitemap-with-bom.txt", 2, "http://www.domain.com/page1.html"),
        ("sitemap.badns.xml", 2, "http://www.example.com/1"),
        ("sitemap.ns.xml", 2, "http://www.example.com/1"),
        ("sitemap.txt", 2, "http://www.domain.com/page1.html"),
        ("sitemap.txt.gz", 5, "http://www.example.com/"),
    ],
)
def test_pages_of_real_files_are_found(
    shared_vector: Callable[[str], Path], name: str, count: int, first: str
) -> None:
    sitemap = parse((shared_vector("cc_sitemaps") / name).read_bytes(), AT)
    assert len(sitemap.pages) == count
    assert sitemap.pages[0] == first
    assert sitemap.sitemaps == ()


DAY_S = 86_400.0


def changes(body: str) -> dict[str, float]:
    """Return the times of changes by page, in days since 2026-11-01."""
    begin = datetime(2026, 11, 1, tzinfo=UTC).timestamp()
    found = parse(body.encode(), AT).changed
    return {page.removeprefix(ROOT): (at - begin) / DAY_S for page, at in found}


def entry(location: str, changed: str) -> str:
    return f"<url><loc>{location}</loc><lastmod>{changed}</lastmod></url>"


@pytest.mark.parametrize(
    ("content", "changed"),
    [
        (entry("/a", "2026-11-02T12:00:00Z"), {"/a": 1.5}),
        ("<url><loc>/b</loc></url>", {}),
        (entry("/c?x=1&amp;y=2", "2026-11-02T12:00:00+12:00"), {"/c?x=1&y=2": 1.0}),
        (
            "<x:url><x:lastmod> 2026-11-03T00:00:00 </x:lastmod><x:loc>/d</x:loc></x:url>",
            {"/d": 2.0},
        ),
        (
            entry("<![CDATA[/a?b[]=1]]>", "\n<![CDATA[2026-11-02T12:00:00Z]]>"),
            {"/a?b[]=1": 1.5},
        ),
        # a date without a time means the end of the day
        (entry("/a", "2026-11-02"), {"/a": 2.0}),
        *((entry("/a", date), {}) for date in ("", "soon", "9999-99-99", "2026-11-02" * 9)),
        # only pages that are listed have changes
        (entry("javascript:x", "2026-11-02"), {}),
    ],
)
def test_a_sitemap_has_dates_of_changes(content: str, changed: dict[str, float]) -> None:
    assert changes(f"<urlset>{content}{entry('/last', '2026-11-03')}</urlset>") == changed | {
        "/last": 3.0
    }


def test_an_atom_feed_has_dates_of_changes() -> None:
    feed = (
        "<feed><updated>2026-11-09T00:00:00Z</updated><entry><link rel='edit' href='/no'/>"
        "<link href='/a'/><updated>2026-11-03T00:00:00Z</updated></entry>"
        "<entry><updated>2026-11-04T00:00:00Z</updated><link rel='alternate' href='/b'/></entry>"
        "</feed>"
    )
    assert changes(feed) == {"/a": 2.0, "/b": 3.0}


@pytest.mark.parametrize(
    ("feed", "entry", "link", "page"),
    [
        ("", "", "", "/maps/1"),
        ("x='y'", "", "", "/maps/1"),
        ("xml:base='/b/'", "", "", "/b/1"),
        ("xml:base='/b/'", "xml:base='c/'", "", "/b/c/1"),
        ("xml:base='/b/'", "xml:base='c/'", "xml:base='/d/'", "/d/1"),
        ("", "xml:base='/c/'", "xml:base='mailto:a'", "/c/1"),
    ],
)
def test_dates_in_an_atom_feed_belong_to_the_links_that_it_lists(
    feed: str, entry: str, link: str, page: str
) -> None:
    content = (
        f"<feed {feed}><link rel='self' xml:base='/self/'/><entry {entry}><link {link} href='1'/>"
        "<updated>2026-11-03T00:00:00Z</updated></entry></feed>"
    )
    assert changes(content) == {page: 2.0}


def test_a_sitemap_of_an_index_has_no_changes() -> None:
    index = "<sitemapindex><sitemap><loc>/a.xml</loc><lastmod>2026-11-02</lastmod></sitemap>"
    assert changes(f"{index}</sitemapindex>") == {}
