"""Describes responses for the log of requests: outcome, status and details."""

from typing import assert_never

from minicrawl.config import Network
from minicrawl.crawl.settle.outcome import TurnEnd
from minicrawl.model import Failed, FetchResult, Moved, ParsedPage, Refused, Response, Unchanged
from minicrawl.states import State
from minicrawl.store.records import CHANGED


def describe_failure(fetched: FetchResult) -> str:
    name, status, detail = _describe(fetched)
    return f"{name.rpartition(':')[2]}: {detail or status or ''}".removesuffix(": ")


def describe_outcome(
    fetched: FetchResult,
    network: Network,
    parsed: ParsedPage | None = None,
    end: TurnEnd | None = None,
) -> tuple[str, int | None, str]:
    """Return the name of the outcome, the status of the response, and details."""
    name, status, detail = _describe(fetched)
    if isinstance(fetched, Response) and fetched.cut:
        by_setting = {
            State.TOO_LARGE: f"cut at {network.max_body_bytes:,} bytes (--max-body)",
            State.CROWDED: "truncated: all bodies together exceeded "
            f"{network.max_bodies_bytes:,} bytes",
            State.TIMEOUT: f"cut after {network.timeout_s:g} s (--timeout)",
        }
        why = f"cut: {fetched.cut_detail or fetched.cut.label}"
        detail = why if fetched.cut_detail else by_setting.get(fetched.cut, why)
    details = [detail]
    if parsed is not None:
        details.append(parsed.cut)
    if end is not None:
        name = end.state.outcome if end.reason else name
        details += [end.reason, CHANGED if end.has_changed else ""]
    return name, status, "; ".join(filter(None, details))


def _describe(fetched: FetchResult) -> tuple[str, int | None, str]:
    match fetched:
        case Response():
            return "page", fetched.status, f"cut: {fetched.cut.label}" if fetched.cut else ""
        case Moved():
            return "moved", fetched.status, fetched.target
        case Unchanged():
            return "unchanged", 304, ""
        case Refused(state, detail, status) | Failed(state, detail, status):
            return state.outcome, status, detail
    assert_never(fetched)
