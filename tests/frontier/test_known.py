from hypothesis import given
from hypothesis import strategies as st

from minicrawl.frontier.known import Known, code_of

CODES = st.one_of(st.integers(1, 64), st.integers(1, (1 << 64) - 1))


def test_what_was_never_put_is_not_known() -> None:
    assert Known().get(code_of("http://a.example/")) is None
    assert len(Known()) == 0


def test_the_code_of_a_url_is_the_same_on_every_machine() -> None:
    # What `b2sum -l 64` says.
    assert code_of("http://a.example/") == int.from_bytes(
        bytes.fromhex("3a87aef1ec36efc3"), "little"
    )


def test_codes_that_meet_in_one_slot_are_told_apart() -> None:
    known = Known()
    for number, code in enumerate((1, 65, 129, 2)):  # one shard of 64 slots
        known.put(code, number)
    assert [known.get(code) for code in (1, 65, 129, 2, 193)] == [0, 1, 2, 3, None]


def test_it_grows_and_forgets_nothing() -> None:
    known = Known()
    for number in range(20_000):
        known.put(code_of(f"http://a.example/{number}"), number)
    assert len(known) == 20_000
    assert all(known.get(code_of(f"http://a.example/{n}")) == n for n in range(20_000))
    assert known.get(code_of("http://a.example/20000")) is None


@given(st.dictionaries(CODES, st.integers(0, (1 << 32) - 1), max_size=300), st.lists(CODES))
def test_it_answers_as_a_dictionary_does(entries: dict[int, int], others: list[int]) -> None:
    known = Known()
    for code, number in entries.items():
        known.put(code, number)
    assert len(known) == len(entries)
    for code in [*entries, *others]:
        assert known.get(code) == entries.get(code)
