"""Results of fetches, as tests look at them."""

from minicrawl.model import Failed, FailureKind


def kind_of(result: object) -> FailureKind:
    """Return the kind of a failure; fail if the result is none."""
    assert isinstance(result, Failed), result
    return result.kind
