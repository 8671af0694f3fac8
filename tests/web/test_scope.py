import re

import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import UsageError
from minicrawl.web.scope import (
    REACHES,
    ScopeRules,
    folders,
    may_be_html,
    pattern_of,
    pattern_of_urls,
)
from minicrawl.web.urls import posted

SEED = "https://docs.example.com/manual/index.html?lang=/en/"


NEAR, PORT, SIX = "https://docs.example.com", "http://example.com:8080/a/", "http://[2001:db8::80]/"


@pytest.mark.parametrize(
    ("kind", "seed", "allowed", "refused"),
    [
        ("domain", SEED, [NEAR, "http://example.com/", "https://www.blog.example.com:8443/a"],
         ["https://example.org/", "https://notexample.com/"]),
        ("domain", PORT, ["http://example.com/"], []),
        # Neighbouring addresses share a site, but the user did not name them.
        ("domain", "http://192.0.2.7/", ["https://192.0.2.7:8443/a"], ["http://192.0.2.8/"]),
        ("domain", "http://[::7]/", ["https://[::7]:8443/a"], ["http://[::8]/"]),
        ("host", SEED, [f"{NEAR}/b", "http://docs.example.com/b", "http://docs.example.com:443/"],
         ["http://docs.example.com:8080/", f"{NEAR}:8443/", f"{NEAR}:1443/", "https://example.com/",
          "https://www.docs.example.com/"]),
        *((kind, PORT, ["https://example.com:8080/a/b"],
           ["http://example.com/a/b", "http://example.com:80801/a/b"])
          for kind in ("host", "prefix")),
        *((kind, SIX, ["https://[2001:db8::80]/a"],
           ["http://[2001:db8::]/a", "http://[2001:db8::80]:8080/a"])
          for kind in ("host", "prefix")),
    ],
)  # fmt: skip
def test_a_kind_of_scope_reaches_urls_near_a_seed(
    kind: str, seed: str, allowed: list[str], refused: list[str]
) -> None:
    rules = ScopeRules(kind, [seed])
    assert [url for url in (*allowed, *refused) if rules.allows(url)] == allowed


SEGMENTS = st.lists(st.sampled_from(["a", "b", "cc", ""]), max_size=4).map("/".join)
URLS = st.builds("{}://{}/{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h", "example.com", "www.example.com", "example.com:8443", "[::1]:1"]),
    SEGMENTS,
    st.sampled_from(["", "?", "?q=/a/"]),
)  # fmt: skip


@given(st.sampled_from(sorted(REACHES)), st.lists(URLS, max_size=3), URLS)
def test_seeds_are_always_within_reach_and_more_seeds_reach_no_less(
    kind: str, seeds: list[str], url: str
) -> None:
    assert all(ScopeRules(kind, seeds).allows(seed) for seed in seeds)
    if ScopeRules(kind, seeds[:1]).allows(url):
        assert ScopeRules(kind, seeds[:1] + seeds).allows(url)
    widened = ScopeRules(kind, ())
    for seed in seeds:
        widened.widen(seed)
    assert widened.allows(url) is ScopeRules(kind, seeds).allows(url)


@given(st.lists(URLS, max_size=3), URLS)
def test_prefix_allows_urls_that_begin_with_a_folder_of_a_seed(seeds: list[str], url: str) -> None:
    def address(text: str) -> str:
        return text.partition("://")[2].partition("?")[0]

    folders = [re.sub("[^/]*$", "", address(seed)) for seed in seeds]
    expected = any(address(url).startswith(folder) for folder in folders)
    assert ScopeRules("prefix", seeds).allows(url) is expected


def test_an_unknown_scope_is_refused_with_the_choices() -> None:
    with pytest.raises(UsageError, match=r"planet.*any, domain, host"):
        ScopeRules("planet", [SEED])


@pytest.mark.parametrize(
    ("allow", "deny", "allowed", "refused"),
    [
        # with allow, one pattern must match anywhere in the URL
        (("/docs/", r"\?page="), (), ["docs/a", "?page=2"], ["blog/"]),
        ((), ("/login", "print=1"), ["docs/"], ["login?next=/docs/", "docs/?print=1"]),
        (("/docs/",), ("draft",), [], ["docs/draft"]),  # deny wins over allow
    ],
)
def test_patterns_allow_and_deny_urls(
    allow: tuple[str, ...], deny: tuple[str, ...], allowed: list[str], refused: list[str]
) -> None:
    patterns = ScopeRules("any", [SEED], allow=allow, deny=deny)
    asked = (*allowed, *refused)
    assert [it for it in asked if patterns.allows(f"https://example.com/{it}")] == allowed


def test_patterns_do_not_widen_the_reach() -> None:
    patterns = ScopeRules("host", [SEED], allow=("example",))
    assert not patterns.allows("https://example.org/")


@pytest.mark.parametrize("pattern", ["a(b", "a{99999999999}"])
def test_a_broken_pattern_is_refused_with_its_place(pattern: str) -> None:
    with pytest.raises(UsageError, match=re.escape(f"allow {pattern!r}")):
        ScopeRules("any", [SEED], allow=(pattern,))
    with pytest.raises(UsageError, match=re.escape(f"deny {pattern!r}")):
        ScopeRules("any", [SEED], deny=(pattern,))


OTHER_FILES = [
    *("a.pdf", "a/B.JPG", "photo.png?size=large", "a.b.tar.gz", "1.0.zip", "feed.rss"),
    *("a%20b.mp3", "app.js", "lib/jquery.min.js?v=3", "a.mjs", "setup.exe", "A.EXE"),
]
PAGES = [
    *("", "a", "pdf", ".png", "a.html", "a.php", "index.asp", "a.pdf/", "a.pdf/b"),
    *("view?file=a.pdf", "download.dll?ViewItem", "site/example.com", "wiki/Node.js"),
    *("wiki/File:Cat.jpg", "wiki/File%3ACat.jpg", "release-1.0"),
    *("cgi-bin/maps.exe?place=1", "node.js/"),
]


@pytest.mark.parametrize("rest", OTHER_FILES + PAGES)
def test_file_names_of_other_types_are_no_pages(rest: str) -> None:
    assert may_be_html(f"https://example.zip/{rest}") == (rest in PAGES)
    assert ScopeRules("any", []).allows(f"https://example.zip/{rest}") == (rest in PAGES)


def test_the_caller_may_choose_the_endings_that_are_no_pages() -> None:
    rules = ScopeRules("any", [], not_html=frozenset({"html"}))
    assert rules.allows("https://example.com/a.pdf")
    assert not rules.allows("https://example.com/a.html")


def test_folders_leaves_out_folders_below_others() -> None:
    seeds = [f"https://a.example/{path}" for path in ("docs/b/x", "docs/", "docs/b/", "e?q=/f/")]
    assert folders(seeds[:3]) == ["a.example/docs/"]
    assert folders([*seeds, "http://b.example:8080/c/d"]) == ["a.example/", "b.example:8080/c/"]


@pytest.mark.parametrize(
    ("url", "text", "matches"),
    [
        ("http://a.example/x", "http://a.example/x", True),
        ("http://a.example/x", "http://a.example/xy", False),
        ("http://a.example/x", "http://aaexample/x", False),
        ("http://a.example/x*", "http://a.example/x/y", True),
        ("http://a.example/x*", "http://b.example/?http://a.example/x", False),
    ],
)
def test_a_pattern_matches_its_url_or_with_a_star_its_prefix(
    url: str, text: str, *, matches: bool
) -> None:
    assert (re.search(pattern_of(url), text) is not None) == matches


@pytest.mark.parametrize(
    ("what", "matches"),
    [
        ("http://a.example/api", True),
        ("http://a.example/api?x=1", True),
        ("http://a.example/a*", True),
        ("http://a.example/ap", False),
        ("http://a.example/api/", False),
    ],
)
def test_a_pattern_of_urls_matches_posts_to_them(what: str, matches: bool) -> None:
    url = what if "?" in what else "http://a.example/api"
    pattern = re.compile(pattern_of_urls(what))
    assert (pattern.match(posted(url, b"body")) is not None) == matches
    assert (pattern.match(url) is not None) == matches
    assert not pattern.match(f"{posted('http://a.example/', b'body')}0")
