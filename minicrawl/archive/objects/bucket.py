"""Object store behind a URL, through obstore: S3 and whatever speaks its protocol, Google, Azure,
or a folder (`file:///`).

Laws: credentials come from the environment and from the usual files, are in no URL, and no message
has them. Each call ends in time. A call that fails says in one line what to do, and for a while the
next ones fail at once, so that a crawl is not slowed down by a store that does not answer.
"""

import os
import re
from collections.abc import Iterator, Mapping
from configparser import ConfigParser, Error as ConfigError
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from minicrawl.errors import Damaged, Unreachable, needs
from minicrawl.own_files import sync

if TYPE_CHECKING:
    from obstore.store import ObjectStore

REQUEST_S, RETRIES, RETRY_S, REST_S = 30.0, 4, 60.0, 30.0
"""Limit of a request; retries, and the time after which there is none; pause after a failure."""
PIECE_BYTES = 8 << 20
_TROUBLES = (
    (r"ExpiredToken|TokenExpired|RequestExpired", "the credentials have expired: renew them"),
    (r"NoSuchBucket|ContainerNotFound|bucket does not exist", "no such bucket: make it"),
    (r"code: 40[13]|Denied|Unauth", "access is denied: list, get, put and delete must be allowed"),
    (r"169\.254\.|MissingAccount|redential", "no credentials: set those of its provider"),
    (r"kind: Timeout|TimedOut", "no answer in time"),
    (r"ConnectionRefused|kind: Connect|dns error", "no connection"),
    (r"UnableToCanonicalize", "no such folder: make it"),
)
"""What a text of obstore means, the first that fits."""


class Bucket:
    """Objects below a URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._store: ObjectStore | None = None
        self._rests_until, self._trouble = 0.0, ""

    def put(self, key: str, file: Path) -> None:
        """Store a file, a large one in parts."""
        with self._in_words(key) as store:
            store.put(key, file, chunk_size=PIECE_BYTES, max_concurrency=4)
            if self.url.startswith("file:"):  # which obstore leaves in the memory of the system
                root = Path(unquote(urlsplit(self.url).path))
                for path in (root / key, (root / key).parent, root):
                    sync(path)

    def read(self, key: str, begin: int, count: int) -> bytes:
        """Return bytes of an object. Raise `Damaged` if it is gone or has fewer."""
        with self._in_words(key) as store:
            content = bytes(store.get_range(key, start=begin, length=count))
        if len(content) < count:
            raise Damaged(f"{self.url}/{key} has fewer bytes")
        return content

    def has(self, key: str, digest: str, length: int) -> bool:
        """Read an object back, and return True if it has these bytes."""
        hasher = sha256()
        try:
            for begin in range(0, length, PIECE_BYTES):
                hasher.update(self.read(key, begin, min(PIECE_BYTES, length - begin)))
        except Damaged:
            return False
        return hasher.hexdigest() == digest

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        with suppress(Damaged), self._in_words(key) as store:
            store.delete(key)

    @contextmanager
    def _in_words(self, key: str) -> "Iterator[ObjectStore]":
        """Yield the store, and convert its errors: `Damaged` for an object that is not there."""
        with needs("objects", self.url):
            from obstore.exceptions import BaseError
        if monotonic() < self._rests_until:
            raise Unreachable(self._trouble)
        try:
            if self._store is None:
                self._store = _opened(self.url)
            yield self._store
        except (BaseError, OSError, ConfigError) as error:
            text = str(error)
            is_gone = isinstance(error, FileNotFoundError) and "NoSuchBucket" not in text
            if is_gone or re.search(r"InvalidRange|code: 416", text):
                raise Damaged(f"{self.url}/{key} is gone, or has fewer bytes") from error
            # Opened anew when it has rested: credentials in a file may have been renewed.
            self._store, self._rests_until = None, monotonic() + REST_S
            self._trouble = f"{self.url}: {_trouble(text)}"
            raise Unreachable(self._trouble) from None


@lru_cache(8)
def bucket_at(url: str) -> Bucket:
    """Return the objects below a URL, the same for all who ask."""
    return Bucket(url)


def _opened(url: str) -> "ObjectStore":
    from obstore.store import from_url

    options: dict[str, Any] = {"automatic_cleanup": True}  # of empty folders
    if not url.startswith("file:"):
        endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        limit = timedelta(seconds=REQUEST_S)
        retries = {"max_retries": RETRIES, "retry_timeout": timedelta(seconds=RETRY_S)}
        client = {"allow_http": endpoint.startswith("http:"), "timeout": limit}
        options = {"client_options": client, "retry_config": retries}
    if url.startswith("s3:"):
        options["config"] = _aws_profile(os.environ)
    return from_url(url, **options)


def _aws_profile(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what the files of AWS have and the environment lacks; obstore does not read them."""
    files, folder = ConfigParser(interpolation=None, strict=False), Path.home() / ".aws"
    files.read(environ.get("AWS_CONFIG_FILE", folder / "config"))
    files.read(environ.get("AWS_SHARED_CREDENTIALS_FILE", folder / "credentials"))
    names = set[str]()
    if not environ.keys() & {"AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"}:
        names |= {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}
    if not environ.keys() & {"AWS_REGION", "AWS_DEFAULT_REGION"}:
        names.add("region")
    profile = environ.get("AWS_PROFILE", "default")
    sections = [files[name] for name in (f"profile {profile}", profile) if name in files]
    return {name: of[name] for of in sections for name in names & of.keys()}


def _trouble(text: str) -> str:
    """Return what an error of obstore means, with the server's own word for it."""
    code = re.search(r"<Code>(\w+)</Code>", text)
    named = f" ({code[1]})" if code else ""
    for form, meaning in _TROUBLES:
        if re.search(form, text):
            return f"{meaning}{named}"
    return re.sub(r"\?\S*", "", " ".join(text.partition("\n\nDebug")[0].split())) + named
