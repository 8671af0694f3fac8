import pytest

from minicrawl.errors import UsageError
from minicrawl.fetch.http import ConnectTarget
from minicrawl.fetch.resolver import ResolveRule, ResolveRules, parse_rule


def place(host: str, port: int, *rules: str) -> ConnectTarget | None:
    return ResolveRules(map(parse_rule, rules)).place(host, port)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a.example=127.0.0.1", ResolveRule("a.example", None, "127.0.0.1", None)),
        ("a.example:80=127.0.0.1:8080", ResolveRule("a.example", 80, "127.0.0.1", 8080)),
        ("A.Example=127.0.0.1", ResolveRule("a.example", None, "127.0.0.1", None)),
        ("bücher.example=[::1]", ResolveRule("xn--bcher-kva.example", None, "::1", None)),
        ("*=[::1]:81", ResolveRule("*", None, "::1", 81)),
        ("*.example:443=127.0.0.1", ResolveRule(".example", 443, "127.0.0.1", None)),
        ("[0:0::1]:80=10.0.0.1", ResolveRule("::1", 80, "10.0.0.1", None)),
        ("127.1=10.0.0.1", ResolveRule("127.0.0.1", None, "10.0.0.1", None)),
    ],
)
def test_rules_are_parsed(text: str, rule: ResolveRule) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("bücher.example=::1", "IPv6 in brackets"),
        ("a.example", "expected HOST"),
        ("=127.0.0.1", "expected HOST"),
        ("a.example=", "expected HOST"),
        ("a=b=127.0.0.1", "'b=127.0.0.1' is not an IP address"),
        ("a.example=b.example", "'b.example' is not an IP address"),
        ("a.example=300.0.0.1", "'300.0.0.1' is not an IP address"),
        ("a.example:0=127.0.0.1", "0 is not a port"),
        ("a.example=127.0.0.1:65536", "65536 is not a port"),
        ("a b=127.0.0.1", "'a b' is not a host"),
        ("*.*.example=127.0.0.1", "'*.*.example' is not a host"),
        ("1.2.3.999=127.0.0.1", "'1.2.3.999' is not a host"),
    ],
)
def test_a_malformed_rule_is_refused_with_its_text_and_the_reason(text: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_rule(text)
    assert f"--resolve {text!r}: " in str(refused.value)
    assert why in str(refused.value)


def test_a_rule_without_a_port_keeps_the_urls_port() -> None:
    assert place("a.example", 8000, "a.example=127.0.0.1") == ConnectTarget("127.0.0.1", 8000)
    assert place("a.example", 8000, "a.example=127.0.0.1:9") == ConnectTarget("127.0.0.1", 9)


def test_a_rule_with_a_port_is_for_that_port_only() -> None:
    assert place("a.example", 80, "a.example:80=127.0.0.1") == ConnectTarget("127.0.0.1", 80)
    assert place("a.example", 81, "a.example:80=127.0.0.1") is None


def test_a_wildcard_is_for_all_names_below_and_not_for_the_name() -> None:
    assert place("b.a.example", 80, "*.example=10.0.0.1")
    assert place("example", 80, "*.example=10.0.0.1") is None
    assert place("notexample", 80, "*.example=10.0.0.1") is None


def test_a_rule_is_for_its_host_only() -> None:
    assert place("b.example", 80, "a.example=10.0.0.1") is None


def test_the_most_specific_rule_wins_whatever_the_order() -> None:
    rules = [
        "a.b.example:80=10.0.0.1",
        "a.b.example=10.0.0.2",
        "*.b.example:80=10.0.0.3",
        "*.b.example=10.0.0.4",
        "*.example=10.0.0.5",
        "*:80=10.0.0.6",
        "*=10.0.0.7",
    ]
    for first in range(len(rules)):
        expected = ConnectTarget(f"10.0.0.{first + 1}", 80)
        assert place("a.b.example", 80, *rules[first:]) == expected
        assert place("a.b.example", 80, *reversed(rules[first:])) == expected


def test_of_equal_rules_the_later_one_wins() -> None:
    assert place("a.example", 80, "a.example=10.0.0.1", "a.example=10.0.0.2") == ConnectTarget(
        "10.0.0.2", 80
    )
