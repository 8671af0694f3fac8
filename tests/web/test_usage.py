"""What a site allows its pages to be used for, in every syntax that sites have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web.references import metas
from minicrawl.web.robots import Rules, parse
from minicrawl.web.usage import (
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
from tests.linear_time import expect_linear

URL = "http://a.example/art/picture.html"


def in_robots(text: str, url: str = URL) -> dict[str, bool]:
    found = parse(text.encode(), "minicrawl").preferences(url)
    return {one.purpose: one.allowed for one in found}


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
        ("User-Agent: *\nContent-Usage: train-ai=n", {"ai-train": False}),
        ("User-Agent: *\nContent-Usage: bots=n", dict.fromkeys(PURPOSES, False)),
        ("User-Agent: *\nContent-Usage: all=n, search=y", dict.fromkeys(PURPOSES, False)),
        ("User-Agent: *\nContent-Usage: search=y;why=x", {"search": True}),
        # the longest path counts, as for Allow; of two of one length the one that denies
        (
            "User-Agent: *\nContent-Usage: train-ai=y\nContent-Usage: /art/ train-ai=n",
            {"ai-train": False},
        ),
        (
            "User-Agent: *\nContent-Usage: train-ai=n\nContent-Usage: /*.html$ train-ai=y",
            {"ai-train": True},
        ),
        (
            "User-Agent: *\nContent-Usage: /art/ train-ai=n\nContent-Usage: train-ai=y",
            {"ai-train": False},
        ),
        ("User-Agent: *\nContent-Usage: /code/ train-ai=n", {}),
        (
            "User-Agent: *\nContent-Usage: train-ai=y\nContent-Signal: ai-train=no",
            {"ai-train": False},
        ),
        # of all groups ours counts, and what stands before them
        (
            "Content-Usage: search=n\nUser-Agent: *\nContent-Usage: train-ai=n\n"
            "User-Agent: minicrawl\nContent-Usage: train-ai=y",
            {"search": False, "ai-train": True},
        ),
        # what nobody defined
        ("User-Agent: *\nContent-Usage: sell=n, train-ai=maybe, =, search", {}),
        ("User-Agent: *\nContent-Usage:", {}),
    ],
)
def test_robots_txt(text: str, expected: dict[str, bool]) -> None:
    assert in_robots(text) == expected
    rules = parse(text.encode(), "minicrawl")
    assert Rules.from_text(rules.text()) == rules


def test_lines_on_usage_change_no_rule() -> None:
    """A list of agents goes on over them, as over all lines that RFC 9309 does not know."""
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
def test_headers_and_meta(name: str, value: str, expected: dict[str, bool]) -> None:
    of_response = {one.purpose: one.allowed for one in of_headers({name: value})}
    assert of_response == expected
    in_page = of_meta([("author", "x"), (name.replace("x-robots-tag", "robots"), value)])
    assert {one.purpose: one.allowed for one in in_page} == expected


def test_of_two_sources_the_one_that_denies_counts_and_is_named() -> None:
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
def test_any_lines_come_back_from_the_store(lines: list[tuple[str, str]]) -> None:
    text = "\n".join(f"Content-Usage: {path} {value}" for path, value in lines)
    rules = parse(text.encode(), "minicrawl")
    again = Rules.from_text(rules.text())
    for url in (URL, "http://a.example/", "http://a.example/ab"):
        assert list(again.preferences(url)) == list(rules.preferences(url))


def test_meta_elements_without_a_name_or_a_content_say_nothing() -> None:
    said = "<META NAME=Robots CONTENT='no&#97;i'><!-- <meta name=a content=b> -->"
    assert metas(f"<meta charset=utf-8><meta name=robots>{said}") == [("robots", "noai")]


# ---------------------------------------------------------------- files


def rsl(*contents: str) -> str:
    return f'<rsl xmlns="https://rslstandard.org/rsl">{"".join(contents)}</rsl>'


def content(url: str, *licences: str) -> str:
    return (
        f'<content url="{url}">{"".join(f"<license>{one}</license>" for one in licences)}</content>'
    )


DENY_TRAINING = '<prohibits type="usage">ai-train</prohibits>'
PERMIT = '<permits type="usage">{}</permits>'


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
        (RSL, rsl(content("/", DENY_TRAINING)), {"ai-train": False}),
        (
            RSL,
            rsl(content("/", PERMIT.format("search ai-input"))),
            {"search": True, "ai-input": True},
        ),
        (
            RSL,
            rsl(content("/", DENY_TRAINING.replace("ai-train", "all"))),
            dict.fromkeys(PURPOSES, False),
        ),
        (
            RSL,
            rsl(content("/", DENY_TRAINING.replace("ai-train", "ai-all, x"))),
            {"ai-input": False, "ai-train": False},
        ),
        (
            RSL,
            rsl(content("/", DENY_TRAINING.replace("ai-train", "ai-index"))),
            {"ai-input": False},
        ),
        (RSL, rsl(content("/", PERMIT.format("ai-index"))), {}),
        (RSL, rsl(content("/", PERMIT.format("train-ai"))), {"ai-train": True}),  # of a draft
        # 3.1.1: no permission of a narrower part undoes a prohibition
        (
            RSL,
            rsl(content("/", DENY_TRAINING), content("/art/*", PERMIT.format("all"))),
            {"search": True, "ai-input": True, "ai-train": False, "archive": True},
        ),
        # 3.7: payments; users
        (
            RSL,
            rsl(content("/", PERMIT.format("ai-train") + '<payment type="free"/>')),
            {"ai-train": True},
        ),
        (
            RSL,
            rsl(content("/", PERMIT.format("ai-train") + '<payment type="crawl"/>')),
            {"ai-train": False},
        ),
        (
            RSL,
            rsl(
                content("/", PERMIT.format("ai-train") + '<permits type="user">education</permits>')
            ),
            {},
        ),
        # 3.3.1: absolute URLs are of their own host
        (RSL, rsl(content("http://a.example/art/*", DENY_TRAINING)), {"ai-train": False}),
        (RSL, rsl(content("http://a.example", DENY_TRAINING)), {"ai-train": False}),
        (RSL, rsl(content("http://b.example/", DENY_TRAINING)), {}),
        (RSL, rsl(content("art", DENY_TRAINING)), {}),
        (RSL, rsl(content("/code/", DENY_TRAINING)), {}),
        (RSL, rsl(content("/", DENY_TRAINING))[:-12], {"ai-train": False}),  # cut
        (RSL, "", {}),
        (RSL, "no XML", {}),
        (
            RSL,
            '<!DOCTYPE x [<!ENTITY a "ai-train">]>'
            + rsl(content("/", DENY_TRAINING.replace("ai-train", "&a;"))),
            {},
        ),
    ],
)
def test_files(kind: str, text: str, expected: dict[str, bool]) -> None:
    found = tdmrep_rules(text) if kind == TDMREP else rsl_rules(text, URL)
    rules = parse(b"User-agent: *\nContent-Usage: archive=n", "minicrawl").with_usage(found)
    said = {one.purpose: one.allowed for one in rules.preferences(URL) if one.where == kind}
    assert said == expected
    assert rules.denial(URL, "archive") == "robots.txt"
    assert rules.denial(URL, "ai-train") == (kind if expected.get("ai-train") is False else "")
    again = Rules.from_text(rules.text())
    assert list(again.preferences(URL)) == list(rules.preferences(URL))


def test_robots_txt_names_files_of_rsl() -> None:
    """RSL 1.0, 4.4: before the groups, and in those for everybody or for us."""
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
        (
            "<a rel=license href=https://creativecommons.org/licenses/by/4.0/>",
            dict.fromkeys(PURPOSES, True),
        ),
        (
            '<link REL="x license" href="//creativecommons.org/publicdomain/zero/1.0/">',
            dict.fromkeys(PURPOSES, True),
        ),
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
def test_markup(markup: str, expected: dict[str, bool]) -> None:
    assert {one.purpose: one.allowed for one in of_markup(markup, URL)} == expected


def test_a_licence_in_a_header() -> None:
    link = '<http://b.example/>; rel=next, <https://creativecommons.org/licenses/by/4.0/>; rel="{}"'
    for rel, said in (("license", PURPOSES), ("next", ())):
        assert tuple(one.purpose for one in of_headers({"link": link.format(rel)})) == said


@pytest.mark.parametrize(
    "piece",
    [
        "<script application/rsl+xml>",
        "<script application/rsl+xml",
        "<a rel=license creativecommons.org",
        "creativecommons.org",
    ],
)
def test_the_worst_markup_takes_linear_time(piece: str) -> None:
    some, more = (f"<a {piece * (n // len(piece))}" for n in (1 << 17, 1 << 19))
    expect_linear(
        lambda: list(of_markup(some, URL)), lambda: list(of_markup(more, URL)), f"of {piece!r}"
    )


def test_of_a_long_file_the_beginning_counts() -> None:
    many = rsl(*(content(f"/{number}", DENY_TRAINING) for number in range(2000)))
    assert len(many) > MOST_BYTES
    assert 0 < len(rsl_rules(many, URL)) <= 100
