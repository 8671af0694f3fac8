from random import Random

import pytest
from hypothesis import given, strategies as st

from tests.proofs.fuzz.driving import drive, failure_of
from tests.proofs.fuzz.mutation import TOKENS
from tests.proofs.fuzz.readers import READERS

BODIES = st.lists(st.sampled_from(TOKENS) | st.binary(max_size=6), max_size=12).map(b"".join)


def test_two_thousand_inputs_break_no_law() -> None:
    tallies = drive(2000, seed=0)
    assert sum(tally.inputs for tally in tallies.values()) == 2000
    assert [failure for tally in tallies.values() for failure in tally.shown] == []


@pytest.mark.parametrize("name", READERS)
@given(body=BODIES, seed=st.integers(0, 1 << 16))
def test_no_sequence_of_tokens_breaks_a_law(name: str, body: bytes, seed: int) -> None:
    assert failure_of(READERS[name], body, Random(seed)) is None


def test_a_failure_names_the_exception_and_the_input() -> None:
    failure = failure_of(lambda body, _: body.decode(), b"\xff", Random(0))
    assert failure is not None
    assert "UnicodeDecodeError" in failure
    assert r"b'\xff'" in failure
