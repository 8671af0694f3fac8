"""Results of fetches, narrowed for tests."""

from minicrawl.model import Failed, FailureKind, Response


def page_of(result: object) -> Response:
    assert isinstance(result, Response), result
    return result


def kind_of(result: object) -> FailureKind:
    assert isinstance(result, Failed), result
    return result.kind
