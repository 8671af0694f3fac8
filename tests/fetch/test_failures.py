import asyncio
import ssl

import pytest

from minicrawl.fetch.http import EXPECTED, Fault, failure
from minicrawl.model import Failed, FailureKind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Fault(FailureKind.PROTOCOL, "bad"), FailureKind.PROTOCOL),
        (ssl.SSLError(1, "bad"), FailureKind.TLS),
        (ssl.SSLCertVerificationError(1, "bad"), FailureKind.TLS),
        (ConnectionResetError("bad"), FailureKind.RESET),
        (TimeoutError("bad"), FailureKind.RESET),
    ],
)
def test_every_expected_exception_has_a_kind(error: Fault | OSError, kind: FailureKind) -> None:
    assert isinstance(error, EXPECTED)
    assert failure(error).kind is kind


def test_bugs_and_cancellations_are_not_expected() -> None:
    for error in (TypeError(), ValueError(), AssertionError(), asyncio.CancelledError()):
        assert not isinstance(error, EXPECTED)


def test_the_detail_of_a_failure_is_one_short_line() -> None:
    failed = failure(Fault(FailureKind.RESET, "first line\n  second line " + "x" * 300))
    assert failed == Failed(kind=FailureKind.RESET, detail=failed.detail)
    assert failed.detail.startswith("first line second line xxx")
    assert len(failed.detail) == 200
