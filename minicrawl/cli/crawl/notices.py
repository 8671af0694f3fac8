"""`--notify URL`: each run posts one JSON document to a hook of the user, signed like GitHub's.

    POST /hook
    Content-Type: application/json
    X-Hub-Signature-256: sha256=<HMAC-SHA256 of the body with MINICRAWL_NOTIFY_SECRET>

A document waits in the file STORE-notices until the hook has answered with a status of success.
Each run first sends the ones of earlier runs, the oldest first, so that a hook may get one twice:
their `id` tells.

Laws: only public addresses are asked, unless --allow-private; redirects are not followed; a hook
that does not answer changes neither the result of the run nor its exit code.
"""

import asyncio
import hmac
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

from minicrawl.cli.options import NOTIFY_SECRET
from minicrawl.cli.output import as_json
from minicrawl.config import Settings
from minicrawl.fetch.fetcher import HttpFetcher
from minicrawl.fetch.reach import network_with_proxies
from minicrawl.model import Request, Response, Want
from minicrawl.own_files import replacing
from minicrawl.report.links.problems import broken_links, by_target
from minicrawl.report.snapshot import snapshot
from minicrawl.report.states.changes import FIXED, changes, counted_changes
from minicrawl.store.reader import file_beside
from minicrawl.wording import counted, iso

PAUSES_S = (2.0, 8.0, 30.0)
"""Pauses between the tries of a run; a hook may be restarting."""
_MOST_ROWS = 100
"""Rows of each list in a document. `minicrawl changes` and `broken` have all of them."""
_MOST_WAITING = 100
NOTICES = "-notices"
"""Suffix of the file with the documents that wait."""


def notify(settings: Settings, run: Mapping[str, object], at: float) -> str:
    """Post what a run has changed; return why a document could not be delivered, or ""."""
    store, url = settings.storing.store, settings.network.notify
    assert url is not None, "somebody is to be notified"
    place = file_beside(store, NOTICES)
    waiting: list[str] = []
    with suppress(FileNotFoundError):
        waiting = place.read_text(encoding="utf-8").splitlines()
    waiting.append(as_json({"id": uuid4().hex, "at": iso(at), **run, **_news(store)}))
    waiting = waiting[-_MOST_WAITING:]
    _keep(place, waiting)
    return asyncio.run(_deliver(url, settings, waiting, lambda lines: _keep(place, lines)))


def _news(store: Path) -> dict[str, object]:
    with snapshot(store) as view:
        rows, has_links = changes(view), view.frontier.terms.links
        broken = by_target(broken_links(view)) if has_links else []
        counts = counted_changes(view) | {"broken": len(broken)}
    fixed = [row.url for row in rows if row.what == FIXED]
    lists: dict[str, Sequence[object]] = {"changes": rows, "fixed": fixed, "broken": broken}
    return {"counts": counts} | {name: items[:_MOST_ROWS] for name, items in lists.items()}


def _keep(place: Path, lines: list[str]) -> None:
    if lines:
        with replacing(place) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    else:
        place.unlink(missing_ok=True)


async def _deliver(
    url: str, settings: Settings, lines: list[str], keep: Callable[[list[str]], None]
) -> str:
    # Own headers and logins are for hosts of the crawl, so the hook gets none.
    async with HttpFetcher(network_with_proxies(settings.network), settings.politeness) as fetcher:
        pauses = iter(PAUSES_S)
        while lines:
            body = lines[0].encode()
            digest = hmac.new(os.environ[NOTIFY_SECRET].encode(), body, sha256).hexdigest()
            headers = {
                "Content-Type": "application/json",
                "X-Hub-Signature-256": f"sha256={digest}",
            }
            request = Request(
                url=url, want=Want.STATUS, headers=(*headers.items(),), method="POST", body=body
            )
            result = await fetcher.fetch(request)
            if isinstance(result, Response):
                lines = lines[1:]
                keep(lines)
                continue
            if (pause_s := next(pauses, None)) is None:
                status = getattr(result, "status", None)
                why = f"status {status}" if status else getattr(result, "detail", "no answer")
                return f"{why}; {counted(len(lines), 'document')} left for the next run"
            await asyncio.sleep(pause_s)
    return ""
