import pytest

from minicrawl.errors import UsageError
from minicrawl.fetch.http.targets import ConnectTarget
from minicrawl.fetch.resolver.rules import ResolveRule, ResolveRules, parse_rule


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


@pytest.mark.parametrize(
    ("host", "port", "rules", "found"),
    [
        ("a.example", 8000, ["a.example=10.0.0.1"], ConnectTarget("10.0.0.1", 8000)),
        ("a.example", 8000, ["a.example=10.0.0.1:9"], ConnectTarget("10.0.0.1", 9)),
        ("a.example", 80, ["a.example:80=10.0.0.1"], ConnectTarget("10.0.0.1", 80)),
        ("a.example", 81, ["a.example:80=10.0.0.1"], None),
        ("b.a.example", 80, ["*.example=10.0.0.1"], ConnectTarget("10.0.0.1", 80)),
        ("example", 80, ["*.example=10.0.0.1"], None),
        ("notexample", 80, ["*.example=10.0.0.1"], None),
        ("b.example", 80, ["a.example=10.0.0.1"], None),
        ("a.example", 80, ["a.example=10.0.0.1", "a.example=10.0.0.2"],
         ConnectTarget("10.0.0.2", 80)),
    ],
)  # fmt: skip
def test_a_rule_is_for_its_host_and_port_and_the_later_of_equal_ones_wins(
    host: str, port: int, rules: list[str], found: ConnectTarget | None
) -> None:
    assert place(host, port, *rules) == found


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
