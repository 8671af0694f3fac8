"""Kinds of values: what each reads, and what it refuses."""

import math
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl.config.values import kinds, networks
from minicrawl.config.values.kinds import InvalidValue, ValueKind, WarcPlace, warc_place
from minicrawl.config.values.stop_rules import UNTIL

PAGES = kinds.whole(1, 1000)
SEVERAL = kinds.several(kinds.PATTERN)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (PAGES, "5", 5),
        (PAGES, 5, 5),
        (kinds.SHARE, "0", 0.0),
        (kinds.SHARE, 1, 1.0),
        (kinds.WEIGHT, 0, 0.0),
        (kinds.WAIT, "0", 0.0),
        (kinds.TIME, "1h30m", 5400.0),
        (kinds.SIZE, "10MB", 10_000_000),
        (kinds.SWITCH, "Yes", True),
        (kinds.SWITCH, "0", False),
        (kinds.SWITCH, False, False),
        (kinds.choice("host", "any"), "any", "any"),
        (kinds.FILE, "a/b.db", Path("a/b.db")),
        (kinds.PATTERN, "(a|b)$", "(a|b)$"),
        (networks.RULE, "*=127.0.0.1:8080", "*=127.0.0.1:8080"),
        (networks.RULE, "*.example:443=[::1]", "*.example:443=[::1]"),
        (kinds.AGENT, "my-crawler", "my-crawler"),
        (kinds.CONTACT, "https://example.org/bot?a", "https://example.org/bot?a"),
        (kinds.CONTACT, "me@example.org", "me@example.org"),
        (kinds.optional(PAGES), "none", None),
        (kinds.optional(PAGES), None, None),
        (kinds.optional(PAGES), "3", 3),
        (kinds.either("auto", PAGES), "auto", "auto"),
        (kinds.either("auto", PAGES), "3", 3),
        (SEVERAL, "a", ("a",)),
        (SEVERAL, ["a", "b"], ("a", "b")),
        (SEVERAL, (), ()),
        (kinds.KEY_FILE, "a=b.pem", Path("a=b.pem")),
        (kinds.KEY_FILE, "asked=b.pem", "asked=b.pem"),
        (kinds.WARC_PLACE, "/there", Path("/there")),
        (kinds.WARC_PLACE, "news:5MB=/there", "news:5MB=/there"),
        (kinds.SCORER, "words:sea, harbour", "words:sea, harbour"),
        (kinds.SCORER, "my-scorer", "my-scorer"),
    ],
)
def test_text_and_values_are_read_and_read_again_unchanged(
    kind: ValueKind, value: object, expected: object
) -> None:
    found = kind.read(value)
    assert found == expected
    assert type(found) is type(expected)
    assert kind.read(found) == expected


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("/there", WarcPlace(Path("/there"))),
        ("/a=b/there", WarcPlace(Path("/a=b/there"))),
        ("news=/there", WarcPlace(Path("/there"), "news")),
        ("news:5MB=/there", WarcPlace(Path("/there"), "news", 5_000_000)),
        (":5000=/there", WarcPlace(Path("/there"), full_bytes=5000)),
    ],
)
def test_warc_files_may_have_a_name_and_a_size(value: str, place: WarcPlace) -> None:
    assert warc_place(str(kinds.WARC_PLACE.read(value))) == place
    assert warc_place(str(kinds.WARC_PLACE.read(str(place)))) == place


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        *((PAGES, value, "must be a whole number above 0") for value in ("-5", True)),
        (PAGES, "1001", "must be at most 1,000"),
        (kinds.whole(0), "-1", "must be a whole number of at least 0"),
        *((kinds.SHARE, value, "must be a number from 0 to 1") for value in ("1.1", math.nan)),
        *((kinds.SMALL_EDGE, value, "must be a number from 0.01 to 0.99") for value in "01"),
        (kinds.WEIGHT, "inf", "must be a number of at least 0"),
        (kinds.WAIT, "-1", "must be a time of at least 0"),
        (kinds.TIME, "0s", "must be a time above 0"),
        (kinds.TIME, "99999d", "must be at most 1,000,000,000 seconds"),
        (kinds.SIZE, "0", "must be a size above 0"),
        (kinds.SIZE, "99999999TB", "must be at most 9,223,372,036,854,775,807 bytes"),
        *((kinds.SWITCH, value, "must be true or false") for value in ("maybe", 1)),
        *((kinds.choice("host", "any"), v, "must be one of host, any") for v in ("some", ["any"])),
        (kinds.choice("host", renamed={"site": "host"}), "site", "was removed, use host"),
        *((kinds.FILE, value, "must be a path of printable") for value in ("", "a\0b")),
        *((kinds.PATTERN, value, "must be a regular expression of p") for value in ("", "a\n")),
        (kinds.PATTERN, "a{99999999999}", "is not a regular expression: "),
        (kinds.AGENT, "bot/1.0", "must be a name of letters, - and _ only"),
        *((kinds.CONTACT, v, "must be a URL or a mail") for v in ("me", "a@b)\r\nX: y")),
        (SEVERAL, 3, "must be a string or a list of strings"),
        *(
            (kinds.WARC_PLACE, value, "must be DIR, NAME=DIR or NAME:SIZE=DIR")
            for value in ("a b=/there", "=/there", "news=")
        ),
        (kinds.WARC_PLACE, "news:big=/there", "must be a size above 0"),
        *((kinds.SCORER, v, "must be the name of a scorer, or n") for v in ("words:", ":sea")),
    ],
)
def test_an_invalid_value_names_a_valid_form(kind: ValueKind, value: object, wanted: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        kind.read(value)
    assert refused.value.wanted.startswith(wanted)


def test_the_pattern_that_does_not_compile_is_named_with_the_place_of_the_mistake() -> None:
    with pytest.raises(InvalidValue) as refused:
        SEVERAL.read(["a", "b("])
    assert refused.value.value == "b("
    assert "position 1" in refused.value.wanted


@pytest.mark.parametrize(
    "rule",
    [
        *("", "*", "*=", "=::1", "a=b", "a=::1", "a:b=127.0.0.1", "a b=127.0.0.1"),
        *("a=127.0.0.1:0", "a=127.0.0.1:65536", "a=127.0.0.1=1"),
    ],
)
def test_a_rule_without_host_or_address_is_refused(rule: str) -> None:
    with pytest.raises(InvalidValue, match=r"HOST\[:PORT\]=ADDRESS\[:PORT\]"):
        networks.RULE.read(rule)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        *((value, ()) for value in ("none", ["none"], ("none",), [], ())),
        (["none", "a"], ("none", "a")),
        ("(none)", ("(none)",)),
    ],
)
def test_only_none_alone_is_an_empty_list(value: object, read: tuple[str, ...]) -> None:
    assert SEVERAL.read(value) == read


@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.binary()))
def test_reading_any_input_gives_a_value_or_invalid_value(value: object) -> None:
    of_hosts = (networks.RULE, networks.PROXY, networks.HOST, networks.BYPASS, networks.ADDRESS)
    of_values = (PAGES, kinds.SHARE, UNTIL, kinds.TIME, kinds.SIZE, kinds.SWITCH, kinds.FILE)
    for kind in (*of_values, *of_hosts):
        try:
            found = kind.read(value)
        except InvalidValue:
            continue
        assert kind.read(found) == found
