"""Take-downs: URLs that a store refuses to show and to request, although it does not have them.

Law: a URL that was taken down is in no row of the store, but a link to it leads to the same page as
before. The page keeps its id, host and cash, so the ledger stays exact. Its path is replaced by a
digest of the URL, and a URL is concealed in this way before it is looked up.

    http://a.example/private/ann  ->  http://a.example/#taken-down-8b1f...

No page has such a URL, as canonical URLs have no fragment. Someone who can guess a URL can also
compute its digest. A salt would have to be kept beside it, so it would not help.

what    how a store notes a take-down: the digest of a URL or, with `*` and its length, of a prefix
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from hashlib import blake2b

from minicrawl.web.urls import POSTED, canonical, split

_MARK = "#taken-down-"
_POSTED = re.compile(POSTED)
_URL = re.compile(r"""https?://[^\s"'<>()\[\]\\]*[^\s"'<>()\[\]\\.,;:!?]""")
_DIGEST_BYTES = 16


def what_of(pattern: str) -> str:
    """Return how a store notes a URL, or a prefix followed by `*`."""
    if not pattern.endswith("*"):
        return _digest(pattern)
    return f"{_digest(pattern[:-1])}*{len(pattern) - 1}"


def _digest(text: str) -> str:
    encoded = text.encode(errors="surrogatepass")
    return _MARK + blake2b(encoded, digest_size=_DIGEST_BYTES).hexdigest()


class Takedowns:
    """Take-downs of a store."""

    def __init__(self, notes: Iterable[str] = ()) -> None:
        self._urls: set[str] = set()
        self._prefixes: dict[int, set[str]] = defaultdict(set)
        for note in notes:
            digest, _, length = note.partition("*")
            if length:
                self._prefixes[int(length)].add(digest)
            else:
                self._urls.add(digest)

    def __bool__(self) -> bool:
        return bool(self._urls or self._prefixes)

    def covers(self, url: str) -> bool:
        """Return True if this URL was taken down, or is concealed already."""
        return bool(self) and (
            split(url)[1].startswith(_MARK, 1)
            or not self._urls.isdisjoint(map(_digest, (url, _POSTED.sub("", url))))
            or any(_digest(url[:length]) in digests for length, digests in self._prefixes.items())
        )

    def conceal(self, url: str) -> str:
        """Return the URL, or what stands for it in the store if it was taken down."""
        origin, path = split(url)
        if path.startswith(_MARK, 1) or not self.covers(url):
            return url
        return f"{origin}/{_digest(url)}"

    def conceal_in(self, text: str) -> str:
        """Return the text with all absolute URLs that were taken down concealed."""
        return _URL.sub(self._concealed, text) if self else text

    def _concealed(self, match: re.Match[str]) -> str:
        url = canonical(match[0])
        return match[0] if url is None or not self.covers(url) else self.conceal(url)


NO_TAKEDOWNS = Takedowns()
