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


class FailureKind(StrEnum):
    """Reason for a failed request; `crawl.settle.outcome` has the retry policies."""

    DNS = "dns"  # the name has no address, or the resolver failed
    CONNECT = "connect"  # refused, unreachable
    PROXY = "proxy"  # the proxy is down or refuses; the host may be fine
    TLS = "tls"  # certificate or handshake
    TIMEOUT = "timeout"  # the deadline of the whole request passed
    RESET = "reset"  # the connection ended before the response did
    PROTOCOL = "protocol"  # the response is not HTTP
    ENCODING = "encoding"  # a Content-Encoding that is broken, unknown or a bomb
    TOO_LARGE = "too-large"  # headers or a body past the cap
    CROWDED = "crowded"  # all bodies in flight exceeded their limit, and this was the largest
    THROTTLED = "throttled"  # 429: asks us to slow down
    SERVER_ERROR = "server-error"  # 5xx
    NOT_FOUND = "not-found"  # 404 and 410
    CLIENT_ERROR = "client-error"  # any other 4xx
    BAD_STATUS = "bad-status"  # a status without meaning for GET
    BAD_REDIRECT = "bad-redirect"  # a 3xx without a valid target, or too many of them
    LOST = "lost"  # the worker process died during this request
    INTERRUPTED = "interrupted"  # cancelled by the crawler, for reasons unrelated to the page


class Refusal(StrEnum):
    """Reason why a known page is not requested, or its body not read."""

    ROBOTS = "robots"  # robots.txt disallows it or could not be fetched
    SCOPE = "scope"  # outside the scope that the user set
    DEPTH = "depth"  # too many links away from the seeds
    HOST_BUDGET = "host-budget"  # --per-host-pages of its host are used up
    ADDRESS = "address"  # non-public address
    TYPE = "type"  # document type that is not read
    TRAP = "trap"  # crawler trap: endless similar pages
    ALLOWANCE = "allowance"  # the quota of its host or site is used up


class SentBody(NamedTuple):
    """Encoded body as the server sent it: in memory, or in a file if the decoded body is in one."""

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
    """Empty unless the body was encoded and --raw-bodies keeps it so."""


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
    cut: FailureKind | None = None
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
        return self.cut not in (None, FailureKind.TOO_LARGE)


class Moved(NamedTuple):
    """A redirect. `target` is unchanged except for its login, and is checked like any link."""

    status: int
    target: str
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cookies: tuple[str, ...] = ()
    wire: Wire | None = None


class Unchanged(NamedTuple):
    """304: the stored copy is still valid, for `fresh_s` if the headers say so."""

    fresh_s: float | None = None
    elapsed_s: float = 0.0
    first_byte_s: float | None = None
    cookies: tuple[str, ...] = ()
    wire: Wire | None = None


class Refused(NamedTuple):
    """Result of a request that the crawler refused to send, or whose body it refused to read."""

    reason: Refusal
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

    kind: FailureKind
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
    gist: int = 0  # hash of the text without numbers
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


class State(IntEnum):
    """State of a page: waiting, or the result of its last request. Stores use the numbers."""

    UNREAD = 0
    FETCHED = 1
    MOVED = 2  # redirect; stands for its target
    CANONICAL = 3  # names another page as canonical, and stands for it
    ALIAS = 4  # has the content of another page, and stands for it
    TWIN = 5  # duplicate by the form of its URL, as similar pages were; not requested
    FOREIGN = 6  # page of another shard, which fetches it
    # Refusals and failures have states of the same names.
    ROBOTS = 10
    SCOPE = 11
    DEPTH = 12
    HOST_BUDGET = 13
    ADDRESS = 14
    TYPE = 15
    TRAP = 16
    ALLOWANCE = 17
    FOCUS = 18  # only in stores of earlier versions
    DNS = 20
    CONNECT = 21
    TLS = 22
    TIMEOUT = 23
    RESET = 24
    PROTOCOL = 25
    ENCODING = 26
    TOO_LARGE = 27
    THROTTLED = 28
    SERVER_ERROR = 29
    NOT_FOUND = 30
    CLIENT_ERROR = 31
    BAD_STATUS = 32
    BAD_REDIRECT = 33
    LOST = 34
    CROWDED = 35
    INTERRUPTED = 36
    PROXY = 37

    @property
    def label(self) -> str:
        """Name shown and exported."""
        return self.name.lower().replace("_", "-")

    @property
    def was_read(self) -> bool:
        """True if the body was received at least once."""
        return self in READ_STATES

    @property
    def is_failure(self) -> bool:
        """True if every attempt failed."""
        return self >= State.DNS

    @property
    def is_dead_end(self) -> bool:
        """True if a link to the page is broken for an outside visitor."""
        return self.is_failure or self is State.ADDRESS

    @property
    def outcome(self) -> str:
        """Outcome that the store records for a failed or refused request."""
        return f"{'failed' if self.is_failure else 'refused'}:{self.label}"

    @classmethod
    def labelled(cls, label: str) -> "State":
        """Return the state with this label."""
        return cls[label.upper().replace("-", "_")]

    @classmethod
    def of(cls, reason: Refusal | FailureKind) -> "State":
        """Return the state for this reason."""
        return cls[reason.name]


READ_STATES = (State.FETCHED, State.CANONICAL, State.ALIAS)
"""States of pages whose body was received."""

PASSING = (
    State.DNS,
    State.CONNECT,
    State.PROXY,
    State.TLS,
    State.TIMEOUT,
    State.RESET,
    State.THROTTLED,
    State.SERVER_ERROR,
)
"""States of pages that failed for a temporary reason."""

CUT = (State.DEPTH, State.HOST_BUDGET, State.TRAP, State.ALLOWANCE)
"""States of pages that a limit left unread. Scope, types and robots.txt say which pages are wanted,
these limits only how many: another value of one option would have read them."""

READABLE = (State.UNREAD, *READ_STATES, *PASSING, *CUT)
"""States of pages that were read or could have been: no rule forbids them, and they are pages."""

STANDS_FOR_ANOTHER = (State.MOVED, State.CANONICAL, State.ALIAS, State.TWIN)
"""States of pages that pass all their cash on to one other page."""

CRAWLED, KNOWN = "crawled", "known"
GRAPHS = (CRAWLED, KNOWN)
"""Graphs: crawled pages with the links between them, or all known pages."""
