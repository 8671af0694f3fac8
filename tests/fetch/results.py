"""Results of fetches, narrowed for tests."""

from minicrawl.model import Failed, FailureKind, Response


def page_of(result: object) -> Response:
    """Return a page; fail if the result is another one."""
    assert isinstance(result, Response), result
    return result


def kind_of(result: object) -> FailureKind:
    """Return the kind of a failure; fail if the result is another one."""
    assert isinstance(result, Failed), result
    return result.kind
