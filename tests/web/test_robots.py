import base64
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from minicrawl.model import Failed, Refused
from minicrawl.states import FAILURES, REFUSALS, State
from minicrawl.web.robots.patterns import Matcher
from minicrawl.web.robots.rules import (
    ALLOW_ALL,
    ANSWER_VALID_S,
    FORBID_ALL,
    SILENCE_VALID_S,
    RobotsDecision,
    Rules,
    decision_for,
    parse,
)
from minicrawl.web.urls import canonical

AGENT = "minicrawl"
HOST = "https://example.com"


def rules(*lines: str) -> Rules:
    return parse("\n".join(("User-agent: *", *lines)).encode(), AGENT)


def group(text: str, agent: str = AGENT) -> Rules:
    return parse(text.encode(), agent)


def allows(parsed: Rules, path: str) -> bool:
    return parsed.allows(HOST + path)


@pytest.mark.parametrize(
    ("lines", "allowed", "forbidden"),
    [
        ([], ["/", "/any?thing"], []),
        (["Disallow: /a", "Disallow:"], ["/b"], ["/a"]),
        (["Disallow: /a", "Allow:"], ["/b"], ["/a"]),
        *(
            (["Disallow: /", f"Allow: /a/{page}"], ["/a/"], ["/a/b"])
            for page in ("index.html", "index.htm", "index.html?a")
        ),
        (["Disallow: /a/index.html"], ["/a/"], ["/a/index.html"]),
        (["Disallow: /$"], ["/a"], ["/", ""]),
    ],
)
def test_empty_rules_are_ignored_and_an_index_page_stands_for_its_folder_if_it_is_allowed(
    lines: list[str], allowed: list[str], forbidden: list[str]
) -> None:
    parsed = rules(*lines)
    assert [path for path in (*allowed, *forbidden) if allows(parsed, path)] == allowed


def test_rules_in_older_stores_are_normalized_when_read() -> None:
    kept = Rules.from_text("User-agent: *\nDisallow: /%61dmin\nDisallow: /%7Ejoe/")
    assert kept == rules("Disallow: /admin", "Disallow: /~joe/")
    assert not allows(Rules(forbidden=("/%61dmin",)), "/admi%6e/x")


# RFC 9309, 2.2.2: path, encoded path, path to match; and 2.2.3.
SAME_BY_THE_RFC = [
    ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
    ("/foo/bar?baz=https://foo.bar", "/foo/bar?baz=https%3A%2F%2Ffoo.bar"),
    ("/foo/bar/ツ", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
    ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"),
    ("/path/foo-%24", "/path/foo-$"),
]
THE_SAME = [
    ("/admin", "/%61dmi%6E"),
    ("/~joe/", "/%7ejoe/"),
    ("/a-b._~", "/%61%2d%62%2E%5f%7E"),
    ("/a!&'()+,;=:@[b]", "/a%21%26%27%28%29%2b%2C%3b%3D%3a%40%5B%62%5d"),
    ("/a b|<c>", "/a%20b%7C%3Cc%3e"),
    ("/?a=/b?c=d", "/?a=%2fb%3Fc=d"),
    ("/*?u=/b", "/x?u=%2Fb"),
    ("/*u=/b", "/x?u=%2Fb"),
    ("/*u=%2Fb", "/x?u=/b"),
    ("/*u=%2Fb*/c", "/x?u=%2Fb&v=/c"),
    ("/*u%3Db%3Fc", "/x?u=b?c"),
    ("/*a%2Fb", "/x/a%2Fb"),
    ("/*a/b", "/x/a/b"),
    ("/100%", "/100%25"),
    ("/100%", "/100%"),
    ("/*%", "/a%20b"),
    ("/*%2", "/a%2Cb"),
    ("/%2561dmin", "/%2561dmin"),
]
OTHERS = [
    ("/a/b", "/a%2Fb"),
    ("/*a/b", "/x/a%2Fb"),
    ("/*a%2Fb", "/x/a/b"),
    ("/a?b", "/a%3Fb"),
    ("/admin", "/%2561dmin"),
    ("/%61dmin", "/%2561dmin"),
    ("/a%2A", "/ab"),
    ("/a%24", "/a"),
    ("/a%2A$", "/a*b"),
]


@pytest.mark.parametrize(("pattern", "path"), SAME_BY_THE_RFC + THE_SAME)
def test_equivalent_escapes_match(pattern: str, path: str) -> None:
    url = canonical(HOST + path) or ""
    for written in (f"Disallow: {pattern}", f"Disallow: {pattern}*"):
        parsed = rules(written)
        assert not parsed.allows(url)
        assert Rules.from_text(parsed.text()) == parsed
    assert rules("Disallow: /", f"Allow: {pattern}").allows(url)


@pytest.mark.parametrize(
    ("path", "pattern"),
    # A star, and a "%" that begins no escape, mean more in a rule than in a path.
    [it for it in SAME_BY_THE_RFC + THE_SAME if "*" not in it[0] and it[0] != "/100%"],
)
def test_path_and_pattern_may_swap_their_escapes(path: str, pattern: str) -> None:
    literal = pattern.replace("*", "%2A").replace("$", "%24")
    assert not rules(f"Disallow: {literal}").allows(canonical(HOST + path) or "")


@pytest.mark.parametrize(("pattern", "path"), OTHERS)
def test_escapes_of_other_characters_do_not_match(pattern: str, path: str) -> None:
    assert allows(rules(f"Disallow: {pattern}"), path)


@given(st.text(st.sampled_from("ab%%%2461F/?"), max_size=12))
def test_a_rule_matches_the_path_that_is_written_like_it(path: str) -> None:
    assert not allows(rules(f"Disallow: /{path}$"), f"/{path}")


MISSPELLINGS = ("Dissallow", "dissalow", "disalow", "diasllow", "disallaw", "DISALLOWED")
AGENTS = ("user-agent", "useragent", "user agent", "User-agents")


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("", ALLOW_ALL),
        ("<!DOCTYPE html><title>Not found</title><p>Disallow: /", ALLOW_ALL),
        # the name of an agent is a whole token
        ("User-agent: minicrawl/2.0 (polite)\nDisallow: /\n", FORBID_ALL),
        ("User-agent: minicrawler\nDisallow: /\n", ALLOW_ALL),
        ("User-agent: mini\nDisallow: /\n", ALLOW_ALL),
        # a star before a comment means all agents
        ("User-agent: * (all of you)\nDisallow: /\n", FORBID_ALL),
        ("User-agent: *bot\nDisallow: /\n", ALLOW_ALL),
        # only rules end a list of agents
        (
            "User-agent: minicrawl\n\nSitemap: /s.xml\nCrawl-delay: 4\nunknown: line\n"
            "User-agent: other\nDisallow: /\n",
            Rules(forbidden=("/",), crawl_delay_s=4.0, sitemaps=("/s.xml",)),
        ),
        # lines end in any way, and comments and blanks are ignored
        *(
            (f"User-agent: *{end}Disallow: /{end}", FORBID_ALL)
            for end in ("\n", "\r", "\r\n", "\n\r")
        ),
        (
            "# hello\n \tUser-agent :\t* # all\n  disallow :/a # b\x0b\n",
            Rules(forbidden=("/a",)),
        ),
        # common misspellings of fields are accepted, and other names are no fields
        *(
            (f"{agent}: *\n{name}: /\n", FORBID_ALL)
            for agent in AGENTS
            for name in (*MISSPELLINGS, "disallow")
        ),
        *(
            (f"User-agent: *\n{name}: /\n", ALLOW_ALL)
            for name in ("desallow", "no-disallow", "", "user")
        ),
        # a colon may be missing between two words
        ("user-agent *\ndisallow\t/\n", FORBID_ALL),
        ("User-agent: *\ndisallow /a /b", ALLOW_ALL),
        ("User-agent: *\ndisallow", ALLOW_ALL),
        # sitemaps in any group are for all agents
        (
            "Sitemap: https://example.com/ü.xml\nUser-agent: other\nDisallow: /\n"
            "site-map: b.xml\nSitemap: b.xml\nSitemap:\n",
            Rules(sitemaps=("https://example.com/ü.xml", "b.xml")),
        ),
    ],
)
def test_lines_are_read_as_google_reads_them(text: str, parsed: Rules) -> None:
    assert group(text) == parsed


def test_a_line_is_cut_where_google_cuts_it() -> None:
    pattern = "/x/" + "a" * (8 * 2083)
    (kept,) = rules(f"disallow: {pattern}").forbidden
    assert len(f"disallow: {kept}") == 8 * 2083 - 1


def test_a_delay_belongs_to_the_agents_above_it() -> None:
    text = "User-agent: *\nCrawl-delay: 10\nUser-agent: minicrawl\nCrawl-delay: 2.5\nDisallow: /a\n"
    assert group(text).crawl_delay_s == 2.5
    assert group(text, agent="other").crawl_delay_s == 10.0


@pytest.mark.parametrize(
    ("lines", "delay_s"),
    [
        (["Crawl-delay: 1", "Crawl-delay: 7", "crawl delay: 3"], 7.0),
        *(([f"Crawl-delay: {value}"], None) for value in ("", "soon", "-1", "inf", "nan", "1e999")),
    ],
)
def test_the_longest_delay_counts_and_a_malformed_one_is_ignored(
    lines: list[str], delay_s: float | None
) -> None:
    assert rules(*lines).crawl_delay_s == delay_s


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_understood(encoding: str) -> None:
    body = "User-agent: *\nDisallow: /ü\n".encode(encoding)
    assert parse(body, AGENT) == rules("Disallow: /ü")


def test_truncated_big_endian_utf_16_is_read_up_to_its_end() -> None:
    body = b"\xfe\xff" + "User-agent: *\nDisallow: /a\n".encode("utf-16-be")
    assert parse(body + b"\xd8\x00\x00", AGENT).forbidden == ("/a",)


def test_a_rule_at_the_end_of_500_kib_is_obeyed_unless_it_is_truncated() -> None:
    head, tail = b"User-agent: *\nAllow: /a\n", b"\nDisallow: /\n"
    body = head + b"#" * (511_000 - len(head) - len(tail)) + tail
    assert parse(body, AGENT).forbidden == ("/",)
    assert parse(body[:-1], AGENT, cut=True) == rules("Allow: /a")
    assert parse(b"User-agent: *\nDisallow: /b", AGENT, cut=True) == ALLOW_ALL


def test_the_normal_form_is_a_robots_txt_of_its_own() -> None:
    parsed = rules("Disallow: /b", "Disallow: /a", "Allow: /a", "Crawl-delay: 1", "Sitemap: s.xml")
    assert parsed.text() == (
        "User-agent: *\nAllow: /a\nDisallow: /b\nCrawl-delay: 1.0\nSitemap: s.xml"
    )


def test_a_pattern_that_escapes_make_longer_is_restored() -> None:
    parsed = parse(b"User-agent: *\nDisallow: /" + b"\xe3" * 16_000, AGENT)
    assert len(parsed.forbidden[0]) == 48_001
    assert Rules.from_text(parsed.text()) == parsed


def naive_match(pattern: str, path: str) -> bool:
    """Match character by character; `ends` has all places where a prefix of the pattern may end."""
    ends = {0}
    for at, char in enumerate(pattern):
        if char == "$" and at == len(pattern) - 1:
            return len(path) in ends
        if char == "*":
            ends = set(range(min(ends), len(path) + 1))
        else:
            ends = {end + 1 for end in ends if path[end : end + 1] == char}
        if not ends:
            return False
    return True


def naive_allows(parsed: Rules, path: str) -> bool:
    ranks = [(len(it), True) for it in parsed.allowed if naive_match(it, path)]
    ranks += [(len(it), False) for it in parsed.forbidden if naive_match(it, path)]
    return max(ranks, default=(0, True))[1]


PATTERNS = st.lists(
    st.builds("{}{}".format, st.sampled_from("/*"), st.text(st.sampled_from("ab/*$"), max_size=6)),
    max_size=8,
).map(tuple)


@given(PATTERNS, PATTERNS, st.lists(st.text(st.sampled_from("ab/$"), max_size=8), min_size=5))
def test_a_check_agrees_with_a_naive_matcher(
    allowed: tuple[str, ...], forbidden: tuple[str, ...], paths: list[str]
) -> None:
    parsed = Rules(allowed=allowed, forbidden=forbidden)
    for path in paths:
        assert allows(parsed, f"/{path}") == naive_allows(parsed, f"/{path}")


def test_too_many_stars_forbid_more_and_never_less() -> None:
    fillers = [f"Disallow: /f*{number:04}{'x' * 1000}" for number in range(33)]
    parsed = rules("Disallow: /a*b" + "c" * 1500, *fillers, "Disallow: /b*c", "Allow: /b*d")
    assert allows(parsed, "/a"), "the longest patterns are kept whole while there is room"
    assert not allows(parsed, "/ab" + "c" * 1500)
    assert not allows(parsed, "/b"), "Disallow patterns are cut at their first star"
    assert not allows(parsed, "/bd"), "Allow patterns are dropped"
    assert allows(parsed, "/")


@given(PATTERNS, PATTERNS, st.text(st.sampled_from("ab/$"), max_size=8), st.integers(0, 2000))
@example((), ("/*a",), "a", 0)
def test_a_smaller_budget_never_allows_more(
    allowed: tuple[str, ...], forbidden: tuple[str, ...], path: str, budget: int
) -> None:
    wanted = naive_allows(Rules(allowed=allowed, forbidden=forbidden), f"/{path}")
    matcher = Matcher(allowed, forbidden)
    assert matcher.allows(f"/{path}", cheap=-1) == wanted
    assert matcher.allows(f"/{path}", budget, cheap=-1) <= wanted


KINDS_OF_NO_FILE = {State.NOT_FOUND, State.CLIENT_ERROR, State.BAD_REDIRECT}


@pytest.mark.parametrize(
    "outcome",
    [*(Failed(kind=kind) for kind in FAILURES), *(Refused(reason=why) for why in REFUSALS)],
    ids=lambda one: one.kind if isinstance(one, Failed) else one.reason,
)
def test_a_missing_file_allows_all_for_a_day_and_any_other_outcome_forbids_all_for_an_hour(
    outcome: Failed | Refused,
) -> None:
    if isinstance(outcome, Failed) and outcome.kind in KINDS_OF_NO_FILE:
        assert decision_for(outcome, FORBID_ALL) == RobotsDecision(ALLOW_ALL, ANSWER_VALID_S)
    else:
        assert decision_for(outcome) == RobotsDecision(FORBID_ALL, SILENCE_VALID_S)
        assert decision_for(outcome).has_no_answer


def test_earlier_rules_outlive_an_unavailable_file() -> None:
    known = rules("Disallow: /x")
    silence = Failed(kind=State.SERVER_ERROR)
    assert decision_for(silence, known) == RobotsDecision(known, SILENCE_VALID_S)
    assert decision_for(known) == RobotsDecision(known, ANSWER_VALID_S)


# Cases in which crawler-commons differs from Google's matcher, which minicrawl agrees with.
CRAWLER_COMMONS_DIFFERS = (
    "testRobotsTxtAlwaysAllowed/1",  # Google forbids /robots.txt like any path: stress/369883
    *(f"{name}/3" for name in ("testMixedEndings2", "testRfpCases", "testRfpCases2")),
    *(f"testRfpCases/{number}" for number in (4, 5, 6, 8, 11)),  # an agent with a version
    "testBrokenKrugleRobotsTxtFile/2",
    *(f"testNutchCases2/{number}" for number in (12, 13, 16, 19, 32, 33, 36, 39, 52, 53, 56, 59)),
    "testUnsupportedFields/1",  # as above, agents with a digit: no token
    *(f"testHeritrixCases/{number}" for number in (5, 6, 7)),  # agents of several words
    "testMultiAgentNames/1",
    "testMultiWordAgentName/1",
    *(f"testSpacesInMultipleUserAgentNames/{number}" for number in (2, 3)),
    "testHtmlMarkupInRobotsTxt/2",  # "*<BR>" is no star
    "testUnicodeUnescapedPaths/7",  # the same bytes read as another charset
)


def decided(case: dict[str, Any], url: str) -> bool:
    return parse(base64.b64decode(case["robots_b64"]), case["agent"]).allows(url)


@pytest.fixture(scope="module")
def cases(shared_vector: Callable[[str], Path]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(shared_vector("robots_cases.json").read_text())
    return found


def test_decisions_agree_with_google_except_for_escapes(cases: list[dict[str, Any]]) -> None:
    googles = [case for case in cases if case["origin"] != "crawler-commons"]
    wrong = [case["name"] for case in googles if decided(case, case["url"]) != case["allowed"]]
    assert len(googles) == 396
    assert wrong == ["correctness/non-ascii-paths/3.0"]  # "/%62" is "/b" by the RFC alone


def test_decisions_differ_from_crawler_commons_only_where_google_does(
    cases: list[dict[str, Any]],
) -> None:
    others = [case for case in cases if case["origin"] == "crawler-commons"]
    wrong = [
        case["name"]
        for case in others
        if decided(case, canonical(case["url"]) or "") != case["allowed"]
    ]
    assert len(others) == 209
    assert sorted(wrong) == sorted(CRAWLER_COMMONS_DIFFERS)


def test_delays_and_sitemaps_of_real_files_are_found(
    shared_vector: Callable[[str], Path],
) -> None:
    folder = shared_vector("cc_robots")
    merged = (folder / "crawl-delay-group-merging.txt").read_bytes()
    assert parse(merged, "mybot").crawl_delay_s == 10.0
    assert parse(merged, "mybot").forbidden == ("/private/",)
    assert parse(merged, "yourbot").crawl_delay_s is None
    assert parse(merged, "yourbot").forbidden == ("/login/", "/private/")
    assert parse(merged, "anybot").crawl_delay_s == 30.0
    (marked,) = {
        parse((folder / f"robots-with-{mark}-bom.txt").read_bytes(), AGENT)
        for mark in ("utf8", "utf16le", "utf16be")
    }
    assert marked != ALLOW_ALL


USUAL_PATH = (
    "/docs/product/category-12/search.html?page=3&sort=price&lang=en&filter=color_red,size_xl"
    "&view=list&from=home&user=guest&view_all=yes&brand=none/"
)
USUAL_PATHS = [USUAL_PATH[:length] for length in (20, 40, 60, 80, 100, 120, 140)]


@pytest.mark.slow
@pytest.mark.large
def test_real_files_are_parsed_restored_and_checked_exactly(
    shared_vector: Callable[[str], Path],
) -> None:
    with_stars, read = list[Rules](), 0
    with tarfile.open(shared_vector("protego_robots.tar.gz")) as archive:
        for member in archive:
            if stream := archive.extractfile(member):
                parsed = parse(stream.read(), AGENT)
                assert Rules.from_text(parsed.text()) == parsed
                read += 1
                if sum("*" in pattern for pattern in parsed.allowed + parsed.forbidden) > 50:
                    with_stars.append(parsed)
    assert read > 3_000
    for parsed in with_stars:
        matcher = Matcher(parsed.allowed, parsed.forbidden)
        for path in USUAL_PATHS:
            assert matcher.allows(path) == matcher.allows(path, cheap=1 << 60)
