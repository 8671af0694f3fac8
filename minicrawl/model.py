"""Values shared by all parts: requests, their results, and parsed pages.

page ID        the number of a page, in order of discovery
request        one URL, requested once; redirects are not followed, each hop is its own request
fetch result   a response, a redirect, a refusal or a failure of a named kind, never an exception
parsed page    the links of a page, canonical and without repeats, and its rules for robots

Some of these values travel between processes for each page; as tuples, they take half the time.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import IO, NamedTuple, TypeAlias

from minicrawl.states import State

PageId: TypeAlias = int
"""Number of a page, in order of discovery; the store never changes it.

This is an alias and not a NewType: IDs move in and out of numpy arrays all the time, and each would
need a cast.
"""


class Want(StrEnum):
    """Purpose of a request; it decides which bodies are read."""

    PAGE = "page"  # a document of `Request.types`; other bodies are not read
    TEXT = "text"  # robots.txt, with any Content-Type
    SITEMAP = "sitemap"  # any Content-Type, parsed as a sitemap
    HEAD = "head"  # existence check by HEAD
    STATUS = "status"  # existence check by GET, for servers that refuse HEAD
    RESOURCE = "resource"  # any request of a page that is being rendered
    FILE = "file"  # any Content-Type; a long body is in a file, and has more time
    PREFLIGHT = "preflight"  # CORS preflight, by OPTIONS


class Request(NamedTuple):
    """Request for a URL. With the validators of a stored copy, the result may be `Unchanged`."""

    url: str
    want: Want = Want.PAGE
    max_bytes: int = 10_000_000
    etag: str | None = None
    last_modified: str | None = None
    request_url: str | None = None  # URL with session marks, if the server insists on them
    suspicious: int = 0  # bits of titles whose pages are compared by text
    dictionary: int = 0  # for compressing the response in the archive
    cookies: str = ""  # Cookie header
    types: int = 1  # documents to read, as bits of `web.responses.types`
    headers: tuple[tuple[str, str], ...] = ()  # set by the page that sends the request
    is_anonymous: bool = False  # without logins and cookies
    keeps_failures: bool = False  # also return the response of a failure
    file_bytes: int = 0  # size limit of documents of other types; with 0 they are not read
    method: str = ""  # of a request that a program enqueued; empty for the method of `want`
    body: bytes = b""  # of a POST


class OwnRequest(NamedTuple):
    """Request that a Python program enqueued for a page, other than a plain GET."""

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


OwnRequests = tuple[tuple[str, OwnRequest], ...]
"""URLs of pages, each with its request."""


class SentBody(NamedTuple):
    """Body as the server sent it, encoded and in chunks: in memory, or in a file if it is long."""

    content: bytes = b""
    spooled: IO[bytes] | None = None


class Wire(NamedTuple):
    """Heads of a request and its response as the bytes sent, and facts of the connection.

    Lines that may hold secrets of the user are left out. An unknown head is empty.
    """

    request: bytes
    response: bytes
    address: str = ""  # of the server; empty behind a proxy
    protocols: tuple[str, ...] = ()  # as WARC-Protocol names them
    cipher: str = ""
    body: SentBody = SentBody()
    """Empty unless --raw-bodies keeps the body as sent, and that is not the body itself."""
    interim: bytes | None = None
    """Interim responses before the final one, if --raw-bodies keeps all bytes; else None."""
    left_out: str = ""
    """Header that the heads of the response lack, as it may hold a secret of the user."""


class Response(NamedTuple):
    """A response with a body. `body` is decoded.

    `cut` is the reason for a truncated body: its limit, the deadline, or the failure that ended
    it. `cut_detail` explains that if the kind alone does not.
    """

    status: int
    headers: Mapping[str, str]  # by lower-case name; repeats joined by ", "
    body: bytes
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cut: State | None = None
    cut_detail: str = ""
    cost_s: float = 0.0  # CPU time for decoding the body
    record: bytes = b""  # archive record of this response, if it is kept
    rendered: bytes = b""  # archive record of the DOM after its scripts, if that is kept
    cookies: tuple[str, ...] = ()  # Set-Cookie headers for a cookie jar; removed from `headers`
    spooled: IO[bytes] | None = None  # long body of a list or file, in the process that fetched it
    wire: Wire | None = None

    @property
    def broke_off(self) -> bool:
        """True if another request might return more of the body."""
        return self.cut not in (None, State.TOO_LARGE)


class Moved(NamedTuple):
    """A redirect. `target` is unchanged except for its login, and is checked like any link."""

    status: int
    target: str
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cookies: tuple[str, ...] = ()
    wire: Wire | None = None
    answer: Response | None = None
    """The response with its body, if --raw-bodies keeps it."""


class Unchanged(NamedTuple):
    """304: the stored copy is still valid, for `fresh_s` if the headers say so."""

    fresh_s: float | None = None
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cookies: tuple[str, ...] = ()
    wire: Wire | None = None


class Refused(NamedTuple):
    """Result of a request that the crawler refused to send, or whose body it refused to read."""

    reason: State
    detail: str = ""
    status: int | None = None
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cost_s: float = 0.0  # processor time for the part of the body that was read
    cookies: tuple[str, ...] = ()
    answer: Response | None = None  # the response of another type, if files are kept
    payload: str = ""  # file with the payload of its record, if it is long

    @property
    def wire_bytes(self) -> int:
        """Number of bytes of the body on the wire."""
        return 0 if self.answer is None else self.answer.wire_bytes


class Failed(NamedTuple):
    """A failed request. `retry_after` is the raw header; `answer` is the response, if requested."""

    kind: State
    detail: str = ""
    status: int | None = None
    retry_after: str | None = None
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cost_s: float = 0.0  # processor time for the part of the body that was read
    cookies: tuple[str, ...] = ()
    answer: Response | None = None


FetchResult = Response | Moved | Unchanged | Refused | Failed


class KeptAnswer(NamedTuple):
    """Response on its way to the archive: its record and its time.

    The payload of a long record is in a temporary file.
    """

    record: bytes
    at: float
    url: str = ""
    importance: float = 0.0
    hops: int = 0
    payload: IO[bytes] | None = None


class CrawlerId(NamedTuple):
    """Process that sends a request: a worker, or the main process of the crawl."""

    number: int = 0  # of a worker; 0 is the main process
    pid: int | None = None  # None for the main process, which knows its PID

    @property
    def name(self) -> str:
        """Name shown in logs and on the dashboard."""
        return f"worker {self.number}" if self.number else "coordinator"


COORDINATOR = CrawlerId()


class ScriptKind(IntEnum):
    """Role of a page's scripts."""

    NONE = 0  # none, or only trackers
    SOME = 1  # may add content
    SHELL = 2  # the page is almost empty without them


class Scripting(NamedTuple):
    """Scripts of a page; pages of one template share their `signature`."""

    kind: ScriptKind = ScriptKind.NONE
    signature: int = 0


NO_SCRIPTS = Scripting()

Originals = tuple[tuple[str, str], ...]
"""Canonical URLs, each with the original URL, if that has session marks."""
StatedChanges = tuple[tuple[str, float], ...]
"""Canonical URLs, each with the moment at which the page last changed, by a sitemap or a feed."""


class ParsedPage(NamedTuple):
    """Content of a parsed page. `links` has each target once, in page order.

    A link is a canonical URL. nofollow links and links to the page itself are left out; the latter
    set `self_link`.
    """

    title: str = ""
    links: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # words in and around each link, if requested
    written: tuple[str, ...] = ()  # each link as written, if requested
    canonical: str | None = None  # rel=canonical, if it names another page
    refresh: str | None = None  # target of an immediate meta refresh
    originals: Originals = ()  # of these URLs
    noindex: bool = False
    encoding: str = "utf-8"
    cut: str = ""  # reason for missing links
    content: int = 0  # hash of the body, 64 bits, signed as in SQLite
    text: int = 0  # order-independent hash of the text, if requested
    template: int = 0  # hash of the text without numbers
    numbers: tuple[float | None, ...] = ()  # of the text, if requested; None if explained
    is_thin: bool = False  # almost no text, or only generated text
    is_sitemap: bool = False  # a sitemap
    sitemaps: tuple[str, ...] = ()  # links to sitemaps, in a sitemap index
    changed: StatedChanges = ()  # of links, in a sitemap or a feed
    extracted: str = ""  # text to keep, if only the parser can extract it
    record: bytes = b""  # archive record of that text
    scripting: Scripting | None = None  # if rendering is on
    self_link: bool = False
    value: int | None = None  # in 65,535ths, if a scorer gave one
    unscored: str = ""  # why a scorer gave none
    own_requests: OwnRequests = ()  # of links that a program enqueued


FULL_VALUE = 65_535
"""Value in the log of a page that a scorer says is worth 1."""

CRAWLED, KNOWN = "crawled", "known"
GRAPHS = (CRAWLED, KNOWN)
"""Graphs: crawled pages with the links between them, or all known pages."""
