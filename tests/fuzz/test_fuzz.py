from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.driving import drive, failure_of
from tests.fuzz.mutation import TOKENS
from tests.fuzz.readers import READERS

BODIES = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=6), max_size=12).map(b"".join)


def test_two_thousand_inputs_break_no_law() -> None:
    tallies = drive(2000, seed=0)
    assert sum(tally.inputs for tally in tallies.values()) == 2000
    assert [told for tally in tallies.values() for told in tally.told] == []


@pytest.mark.parametrize("name", READERS)
@given(body=BODIES, seed=st.integers(0, 1 << 16))
def test_no_mixture_of_tokens_breaks_a_law(name: str, body: bytes, seed: int) -> None:
    assert failure_of(READERS[name], body, Random(seed)) is None


def test_the_same_seed_gives_the_same_inputs() -> None:
    first, second = (Random("1/7").random() for _ in range(2))
    assert first == second


def test_a_reader_that_raises_is_told_of() -> None:
    told = failure_of(lambda body, _: body.decode(), b"\xff", Random(0))
    assert told is not None
    assert "UnicodeDecodeError" in told
    assert r"b'\xff'" in told
