"""An S3 server on loopback, whose answers can go wrong."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest

from minicrawl.archive.objects import bucket

obstore = pytest.importorskip("obstore")
SECRET = "a-secret-that-nobody-may-see"
EXPIRED = b"<Error><Code>ExpiredToken</Code><Message>The token has expired.</Message></Error>"


class S3Server:
    """Bucket `pages` of moto. `fault` names what goes wrong with a share of the requests."""

    def __init__(self, app: Any) -> None:
        self._app, self._random = app, Random(1)
        self.fault, self.share = "", 1.0
        self.requests = list[tuple[str, int]]()
        """Method and bytes of the answer of each request."""

    def __call__(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        fault = self.fault if self._random.random() < self.share else ""
        if fault in ("500", "503"):
            start(f"{fault} Fault", [("Content-Length", "0")])
            return [b""]
        if fault == "expired":
            start("403 Forbidden", [("Content-Length", str(len(EXPIRED)))])
            return [EXPIRED]
        if fault == "slow":
            time.sleep(1)
        answer = b"".join(self._app(environ, start))
        self.requests.append((environ["REQUEST_METHOD"], len(answer)))
        if fault == "lost":  # after it took effect
            environ["werkzeug.socket"].shutdown(2)
        return [answer]


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    """Run the server, and name it and its credentials in the environment."""
    server = pytest.importorskip("moto.server", reason="no S3 server: install moto[s3]")
    from werkzeug.serving import make_server

    for name, value in (("REQUEST_S", 20.0), ("RETRIES", 1), ("RETRY_S", 20.0), ("REST_S", 0.0)):
        monkeypatch.setattr(bucket, name, value)
    bucket.bucket_at.cache_clear()
    s3 = S3Server(server.DomainDispatcherApplication(server.create_backend_app))
    listening = make_server("127.0.0.1", 0, s3, threaded=True)
    Thread(target=listening.serve_forever, daemon=True).start()
    place = f"http://127.0.0.1:{listening.port}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", place)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    urlopen(Request(f"{place}/pages", method="PUT")).close()
    yield s3
    s3.fault = ""
    urlopen(Request(f"{place}/moto-api/reset", method="POST")).close()
    listening.shutdown()
    listening.server_close()


@pytest.fixture(params=["file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the URL of an object store. Marks of named stores are in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if request.param == "s3":
        request.getfixturevalue("s3")
        return "s3://pages/of/a crawl"
    (tmp_path / "objects").mkdir()
    return (tmp_path / "objects").as_uri()


def objects(url: str) -> list[str]:
    """Return the keys of all objects below a URL."""
    options: Any = {} if url.startswith("file") else {"client_options": {"allow_http": True}}
    listed = obstore.list(obstore.store.from_url(url, **options))
    return sorted(one["path"] for page in listed for one in page)
