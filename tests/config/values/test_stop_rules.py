"""Stop rules: the forms of --until."""

import json

import pytest
from hypothesis import given, strategies as st

from minicrawl import Settings
from minicrawl.config.table import BY_NAME
from minicrawl.config.values.kinds import NONE, InvalidValue
from minicrawl.config.values.stop_rules import UNTIL, GatheredShare, GuaranteedShare, Until
from minicrawl.config.writing import plain


@pytest.mark.parametrize(
    ("value", "rule", "text"),
    [
        ("90%", GatheredShare(0.9), "90%"),
        ("12.5 %", GatheredShare(0.125), "12.5%"),
        ("0.9", GatheredShare(0.9), "90%"),
        (1, GatheredShare(1.0), "100%"),
        ("0.6 guaranteed", GuaranteedShare(0.6), "60% guaranteed"),
        ("12.5%guaranteed ", GuaranteedShare(0.125), "12.5% guaranteed"),
    ],
)
def test_a_rule_has_one_text_which_is_read_as_the_same_rule(
    value: object, rule: Until, text: str
) -> None:
    assert UNTIL.read(value) == UNTIL.read(rule) == UNTIL.read(text) == rule
    assert str(rule) == text


@pytest.mark.parametrize(
    "value", ["0", "90", "101%", "-5%", "much", "guaranteed", "120% guaranteed", True]
)
def test_what_is_no_form_is_refused_with_an_example(value: object) -> None:
    with pytest.raises(InvalidValue) as refused:
        UNTIL.read(value)
    assert refused.value.wanted.startswith("must be a share above 0 and at most 1, such as 90%")


@given(st.floats(1e-9, 1), st.sampled_from(("", " guaranteed")))
def test_what_a_store_keeps_of_a_rule_is_read_as_the_same_rule(share: float, ending: str) -> None:
    settings = Settings.of(until=f"{share}{ending}" if ending else share)
    stored = json.loads(json.dumps(plain(settings, BY_NAME["until"])))
    assert type(stored) in ((str,) if ending else (int, float))  # as stores always had it
    assert Settings.of(until=stored) == settings


@given(st.floats(0, 1), st.floats(0.01, 0.999))
def test_a_crawl_goes_on_with_a_larger_share(above: float, share: float) -> None:
    for rule in (GatheredShare(share), GuaranteedShare(share)):
        reached = share + above * (0.9999 - share)
        further = UNTIL.read(rule.beyond(reached))
        assert type(further) is type(rule)
        assert reached < getattr(further, "share")  # noqa: B009
        assert rule.beyond(1.0) == NONE
