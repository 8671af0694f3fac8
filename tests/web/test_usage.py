"""Preferences of sites on the use of their pages, in every syntax that sites use."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.html.page_text import metas
from minicrawl.web.robots.rules import Rules, parse
from minicrawl.web.robots.usage import (
    MOST_BYTES,
    PURPOSES,
    RSL,
    TDMREP,
    Preference,
    joined,
    of_headers,
    of_markup,
    of_meta,
    rsl_rules,
    tdmrep_rules,
)

URL = "http://a.example/art/picture.html"
ALL, NOTHING = dict.fromkeys(PURPOSES, True), dict.fromkeys(PURPOSES, False)


def in_robots(text: str, url: str = URL) -> dict[str, bool]:
    found = parse(text.encode(), "minicrawl").preferences(url)
    return {one.purpose: one.allowed for one in found}


def usage(*lines: str) -> str:
    return "\n".join(["User-Agent: *", *(f"Content-Usage: {line}" for line in lines)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # draft-romm-aipref-contentsignals, and Cloudflare's managed robots.txt
        (
            "User-agent: *\nContent-Signal: search=yes,ai-train=no,use=reference\nAllow: /",
            {"search": True, "ai-train": False},
        ),
        ("Content-signal: ai-input=no", {"ai-input": False}),  # before the first group
        # draft-ietf-aipref-attach, draft-ietf-aipref-vocab
        (usage("train-ai=n"), {"ai-train": False}),
        (usage("bots=n"), NOTHING),
        (usage("all=n, search=y"), NOTHING),
        (usage("search=y;why=x"), {"search": True}),
        # the longest path counts, as for Allow; of equal paths the line that denies
        (usage("train-ai=y", "/art/ train-ai=n"), {"ai-train": False}),
        (usage("train-ai=n", "/*.html$ train-ai=y"), {"ai-train": True}),
        (usage("/art/ train-ai=n", "train-ai=y"), {"ai-train": False}),
        (usage("/code/ train-ai=n"), {}),
        (usage("train-ai=y") + "\nContent-Signal: ai-train=no", {"ai-train": False}),
        # the group for the crawler counts, and the lines before all groups
        (
            "Content-Usage: search=n\nUser-Agent: *\nContent-Usage: train-ai=n\n"
            "User-Agent: minicrawl\nContent-Usage: train-ai=y",
            {"search": False, "ai-train": True},
        ),
        # undefined words and values
        (usage("sell=n, train-ai=maybe, =, search"), {}),
        (usage(""), {}),
    ],
)
def test_preferences_in_robots_txt(text: str, expected: dict[str, bool]) -> None:
    assert in_robots(text) == expected
    rules = parse(text.encode(), "minicrawl")
    assert Rules.from_text(rules.text()) == rules


@pytest.mark.parametrize(
    "value", [b"search=\xb7y", "/é* search=·y".encode(), b"/\xe9 search=y\xc2\xa0"]
)
def test_stored_usage_that_is_not_ascii_is_read_as_it_was(value: bytes) -> None:
    rules = parse(b"User-agent: *\nContent-Usage: " + value, "minicrawl")
    assert Rules.from_text(rules.text()) == rules


def test_lines_on_usage_change_no_rule() -> None:
    """They do not end a list of agents, like all lines that RFC 9309 does not know."""
    text = "User-agent: *\n{}User-agent: other\nDisallow: /x"
    usage = "Content-Usage: train-ai=n\n"
    with_it, without = (parse(text.format(one).encode(), "minicrawl") for one in (usage, ""))
    assert (with_it.forbidden, without.forbidden) == (("/x",), ("/x",))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("content-usage", "train-ai=n, search=y", {"ai-train": False, "search": True}),
        ("content-signal", "ai-input=yes", {"ai-input": True}),
        ("tdm-reservation", "1", {"ai-train": False}),  # W3C TDM Reservation Protocol
        ("tdm-reservation", "0", {"ai-train": True}),
        ("tdm-reservation", "2", {}),
        (
            "x-robots-tag",
            "noai, noarchive",
            dict.fromkeys(("ai-input", "ai-train", "archive"), False),
        ),
        ("x-robots-tag", "googlebot: noarchive", {}),
        ("x-robots-tag", "noindex", {"search": False}),
    ],
)
def test_preferences_in_headers_and_metas(name: str, value: str, expected: dict[str, bool]) -> None:
    of_response = {one.purpose: one.allowed for one in of_headers({name: value})}
    assert of_response == expected
    in_page = of_meta([("author", "x"), (name.replace("x-robots-tag", "robots"), value)])
    assert {one.purpose: one.allowed for one in in_page} == expected


def test_a_source_that_denies_overrides_and_is_named() -> None:
    allows, denies = Preference("search", True, "robots.txt"), Preference("search", False, "meta")
    later = Preference("search", False, "header")
    for found in ([allows, denies, later], [denies, later, allows]):
        assert joined(found) == {"search": denies}
    assert joined([allows, allows]) == {"search": allows}


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "/", "/a*", "$", "/ü%"]), st.text(max_size=30)), max_size=9
    )
)
def test_any_preferences_are_restored_from_the_normal_form(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(f"Content-Usage: {path} {value}" for path, value in lines)
    rules = parse(text.encode(), "minicrawl")
    again = Rules.from_text(rules.text())
    for url in (URL, "http://a.example/", "http://a.example/ab"):
        assert list(again.preferences(url)) == list(rules.preferences(url))


def test_metas_without_name_or_content_are_ignored() -> None:
    complete = "<META NAME=Robots CONTENT='no&#97;i'><!-- <meta name=a content=b> -->"
    assert metas(f"<meta charset=utf-8><meta name=robots>{complete}") == [("robots", "noai")]


def rsl(*contents: str) -> str:
    return f'<rsl xmlns="https://rslstandard.org/rsl">{"".join(contents)}</rsl>'


def content(url: str, licence: str) -> str:
    return f'<content url="{url}"><license>{licence}</license></content>'


def prohibits(uses: str) -> str:
    return f'<prohibits type="usage">{uses}</prohibits>'


def permits(uses: str) -> str:
    return f'<permits type="usage">{uses}</permits>'


def licence(text: str) -> str:
    return rsl(content("/", text))


DENY_TRAINING = prohibits("ai-train")


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        # W3C TDM Reservation Protocol, 6.1: the file at /.well-known
        (TDMREP, '[{"location": "/", "tdm-reservation": 1}]', {"ai-train": False}),
        (TDMREP, '[{"location": "/art/*.html", "tdm-reservation": "1"}]', {"ai-train": False}),
        (
            TDMREP,
            '[{"location": "/", "tdm-reservation": 1}, {"location": "/art", "tdm-reservation": 0}]',
            {"ai-train": True},
        ),
        (TDMREP, '[{"location": "/code", "tdm-reservation": 1}]', {}),
        (TDMREP, '[{"location": "/", "tdm-reservation": 2}, {"location": 1}, 7]', {}),
        (TDMREP, '[{"location": "/ a", "tdm-reservation": 1}]', {}),
        (TDMREP, '{"location": "/"}', {}),
        (TDMREP, "[" * 100_000, {}),
        # RSL 1.0, 3.4.1.1: words of usage
        (RSL, licence(DENY_TRAINING), {"ai-train": False}),
        (RSL, licence(permits("search ai-input")), {"search": True, "ai-input": True}),
        (RSL, licence(prohibits("all")), NOTHING),
        (RSL, licence(prohibits("ai-all, x")), {"ai-input": False, "ai-train": False}),
        (RSL, licence(prohibits("ai-index")), {"ai-input": False}),
        (RSL, licence(permits("ai-index")), {}),
        (RSL, licence(permits("train-ai")), {"ai-train": True}),  # of a draft
        # 3.1.1: no permission of a narrower part undoes a prohibition
        (
            RSL,
            rsl(content("/", DENY_TRAINING), content("/art/*", permits("all"))),
            {"search": True, "ai-input": True, "ai-train": False, "archive": True},
        ),
        # 3.7: payments; users
        (RSL, licence(permits("ai-train") + '<payment type="free"/>'), {"ai-train": True}),
        (RSL, licence(permits("ai-train") + '<payment type="crawl"/>'), {"ai-train": False}),
        (RSL, licence(permits("ai-train") + '<permits type="user">education</permits>'), {}),
        # 3.3.1: absolute URLs are of their own host
        (RSL, rsl(content("http://a.example/art/*", DENY_TRAINING)), {"ai-train": False}),
        (RSL, rsl(content("http://a.example", DENY_TRAINING)), {"ai-train": False}),
        (RSL, rsl(content("http://b.example/", DENY_TRAINING)), {}),
        (RSL, rsl(content("art", DENY_TRAINING)), {}),
        (RSL, rsl(content("/code/", DENY_TRAINING)), {}),
        (RSL, licence(DENY_TRAINING)[:-12], {"ai-train": False}),  # cut
        (RSL, "", {}),
        (RSL, "no XML", {}),
        (RSL, '<!DOCTYPE x [<!ENTITY a "ai-train">]>' + licence(prohibits("&a;")), {}),
    ],
)
def test_preferences_in_files(kind: str, text: str, expected: dict[str, bool]) -> None:
    found = tdmrep_rules(text) if kind == TDMREP else rsl_rules(text, URL)
    rules = parse(b"User-agent: *\nContent-Usage: archive=n", "minicrawl").with_usage(found)
    found_by_kind = {
        one.purpose: one.allowed for one in rules.preferences(URL) if one.where == kind
    }
    assert found_by_kind == expected
    assert rules.denial(URL, "archive") == "robots.txt"
    assert rules.denial(URL, "ai-train") == (kind if expected.get("ai-train") is False else "")
    again = Rules.from_text(rules.text())
    assert list(again.preferences(URL)) == list(rules.preferences(URL))


def test_robots_txt_names_files_of_rsl() -> None:
    """RSL 1.0, 4.4: before the groups, and in the groups for all agents or for the crawler."""
    text = (
        "License: https://a.example/1.xml\nUser-agent: other\nLicense: /2.xml\nDisallow: /\n"
        "User-agent: *\nLicense: /3.xml\nLicense:\nDisallow: /x"
    )
    rules = parse(text.encode(), "minicrawl")
    assert rules.licences == ("https://a.example/1.xml", "/3.xml")
    assert Rules.from_text(rules.text()) == rules


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        # Creative Commons: rel=license, as its generator writes it
        ("<a rel=license href=https://creativecommons.org/licenses/by/4.0/>", ALL),
        ('<link REL="x license" href="//creativecommons.org/publicdomain/zero/1.0/">', ALL),
        (
            "<a rel='license' href='http://creativecommons.org/licenses/by-nc-sa/3.0/de/'>",
            {"search": True, "archive": True},
        ),
        (
            "<a rel=license href=https://creativecommons.org/licenses/by-nd/4.0>",
            {"search": True, "archive": True},
        ),
        ("<a href=https://creativecommons.org/licenses/by/4.0/>", {}),
        ("<a rel=license href=https://creativecommons.org/licenses/bypass/>", {}),
        ("<a rel=license href=https://example.org/by/4.0/>", {}),
        # RSL 1.0, 4.1: in the page itself
        (
            f'<script type="application/rsl+xml">{rsl(content("", DENY_TRAINING))}</script>',
            {"ai-train": False},
        ),
        (
            f"<script type=application/rsl+xml>{rsl(content('/art/*', DENY_TRAINING))}",
            {"ai-train": False},
        ),
        (f'<script type="application/rsl+xml">{rsl(content("/b", DENY_TRAINING))}</script>', {}),
    ],
)
def test_preferences_in_markup(markup: str, expected: dict[str, bool]) -> None:
    assert {one.purpose: one.allowed for one in of_markup(markup, URL)} == expected


def test_a_link_header_may_name_a_licence() -> None:
    link = '<http://b.example/>; rel=next, <https://creativecommons.org/licenses/by/4.0/>; rel="{}"'
    for rel, purposes in (("license", PURPOSES), ("next", ())):
        assert tuple(one.purpose for one in of_headers({"link": link.format(rel)})) == purposes


def test_only_the_start_of_a_long_file_is_read() -> None:
    many = rsl(*(content(f"/{number}", DENY_TRAINING) for number in range(2000)))
    assert len(many) > MOST_BYTES
    assert 0 < len(rsl_rules(many, URL)) <= 100
