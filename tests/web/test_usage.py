"""What a site allows its pages to be used for, in every syntax that sites have."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web.references import metas
from minicrawl.web.robots import Rules, parse
from minicrawl.web.usage import PURPOSES, Preference, joined, of_headers, of_meta

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
