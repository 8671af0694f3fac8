"""`--notify`: signed documents of runs, kept until a hook has them."""

import hmac
import json
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cli import main
from tests.cli.calls import Captured, refusal
from tests.cli.test_update import HOST, Site, let_the_night_pass, site

__all__ = ["site"]
SECRET = "s3cret"
WAITING = Path("data/crawl.db-notices")


class Hook(ThreadingHTTPServer):
    """A receiver that answers with the first of `statuses`, and then with 204."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.statuses: list[int] = []
        self.received: list[tuple[bytes, str]] = []

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(body) for body, _ in self.received]


class _Handler(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((body, self.headers["X-Hub-Signature-256"]))
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setattr("minicrawl.cli.crawl.notices.PAUSES_S", (0.0, 0.0))
    with Hook() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        address = f"http://127.0.0.1:{server.server_address[1]}/hook"
        monkeypatch.setenv("MINICRAWL_NOTIFY", address)
        monkeypatch.setenv("MINICRAWL_NOTIFY_SECRET", SECRET)
        monkeypatch.setenv("MINICRAWL_ALLOW_PRIVATE", "true")
        yield server
        server.shutdown()
        thread.join()


def crawled() -> int:
    return main(["crawl", f"http://{HOST}/", "--scope", "host", "--pages", "9", "-q"])


@pytest.mark.slow
def test_a_run_posts_what_changed_signed_by_the_secret(site: Site, hook: Hook) -> None:
    web, _ = site
    assert crawled() == 0
    web.texts["/apples"] = "red apples"
    del web.texts["/plums"]
    let_the_night_pass()
    assert main(["update", "-q"]) == 0
    first, second = hook.documents
    assert (first["event"], first["reason"], first["counts"]["new"]) == ("crawl", "complete", 5)
    assert (second["event"], second["counts"]["changed"], second["counts"]["gone"]) == (
        "update",
        1,
        1,
    )
    assert {row["what"] for row in second["changes"]} == {"changed", "gone"}
    for body, signature in hook.received:
        assert signature == f"sha256={hmac.new(SECRET.encode(), body, sha256).hexdigest()}"
    assert not WAITING.exists()


@pytest.mark.usefixtures("site")
def test_a_document_waits_until_the_hook_takes_it(hook: Hook) -> None:
    hook.statuses = [500, 302, 503]
    assert crawled() == 0  # the hook does not change the result of the run
    assert len(WAITING.read_text().splitlines()) == 1
    hook.statuses = [503]
    assert main(["update", "-q"]) == 0
    ids = [document["id"] for document in hook.documents]
    assert len(ids) == 6
    assert len(set(ids[:5])) == 1
    assert ids[5] != ids[0]
    assert not WAITING.exists()


@pytest.mark.usefixtures("site")
def test_no_private_address_is_asked_unless_allowed(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MINICRAWL_ALLOW_PRIVATE")
    assert crawled() == 0
    assert not hook.received
    assert WAITING.exists()


@pytest.mark.usefixtures("site", "hook")
def test_without_a_secret_nothing_begins(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINICRAWL_NOTIFY_SECRET")
    assert "MINICRAWL_NOTIFY_SECRET" in refusal(capsys, "crawl", f"http://{HOST}/")
    assert not Path("data").exists()
