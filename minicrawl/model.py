"""The values that all parts share: requests, what came of them, and what pages say.

page id        the number of a page: its place in the order in which pages became known
request        one URL, requested once; a redirect is not followed, each hop is its own request
fetch result   what came of a request: a response, a redirect, a refusal or a failure of a named
               kind, never an exception
parsed page    what a page says: its links, each canonical and once, and its rules for robots

These values travel between processes, a few for each page. As tuples they do so in half the time.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import IO, NamedTuple, TypeAlias

PageId: TypeAlias = int
"""The number of a page, in the order in which pages became known; the store never changes it.

An alias, not a type of its own: ids come out of numpy arrays and go into them all the time, and
each would need a cast.
"""


class Want(StrEnum):
    """What a request is for; this decides which bodies are read."""

    PAGE = "page"  # what it may be, `Request.types` says: the body of anything else is not read
    TEXT = "text"  # robots.txt, whatever type the server claims
    SITEMAP = "sitemap"  # the same, parsed as a sitemap
    HEAD = "head"  # to know whether it is there: the head alone, by the method HEAD
    STATUS = "status"  # the same by GET, for servers that refuse HEAD
    RESOURCE = "resource"  # what a page asks for while it is rendered, whatever it is
    PREFLIGHT = "preflight"  # whether another origin takes headers of a script, by OPTIONS


class Request(NamedTuple):
    """One URL. With the validators of a stored copy, the result may be `Unchanged`."""

    url: str
    want: Want = Want.PAGE
    max_bytes: int = 10_000_000
    etag: str | None = None
    last_modified: str | None = None
    spelled: str | None = None  # the URL with the marks of a visit, if the server insists on them
    suspicious: int = 0  # bits of titles whose pages are compared by their text
    dictionary: int = 0  # with which the answer is packed for the archive
    cookies: str = ""  # the value of its Cookie header
    types: int = 1  # of documents that are read, as bits of `web.documents.kinds.DocumentType`
    headers: tuple[tuple[str, str], ...] = ()  # that a page sends with what it asks for
    is_anonymous: bool = False  # without logins and cookies
    keeps_failures: bool = False  # also the answer that says why there is no page is wanted


class FailureKind(StrEnum):
    """Why there is no usable response; `crawl.settle.outcome` has the retry policy of each."""

    DNS = "dns"  # the name has no address, or the resolver failed
    CONNECT = "connect"  # refused, unreachable
    PROXY = "proxy"  # the proxy is down, or refuses; that says nothing of the host
    TLS = "tls"  # certificate or handshake
    TIMEOUT = "timeout"  # the deadline of the whole request passed
    RESET = "reset"  # the connection ended before the response did
    PROTOCOL = "protocol"  # what came is not HTTP
    ENCODING = "encoding"  # a Content-Encoding that is broken, unknown or a bomb
    TOO_LARGE = "too-large"  # headers or a body past the cap
    CROWDED = "crowded"  # all bodies under way together were too large, and this was the largest
    THROTTLED = "throttled"  # 429: asks us to slow down
    SERVER_ERROR = "server-error"  # 5xx
    NOT_FOUND = "not-found"  # 404 and 410
    CLIENT_ERROR = "client-error"  # any other 4xx
    BAD_STATUS = "bad-status"  # a status that means nothing for a GET
    BAD_REDIRECT = "bad-redirect"  # a 3xx without a usable target, or one too many
    LOST = "lost"  # our worker process ended while it was busy with this
    INTERRUPTED = "interrupted"  # we ended the request for a reason that is not the page


class Refusal(StrEnum):
    """Why a known page is not requested, or its body not read."""

    ROBOTS = "robots"  # robots.txt disallows it or could not be fetched
    SCOPE = "scope"  # outside the scope that the user set
    DEPTH = "depth"  # more links away from the seeds than allowed
    HOST_BUDGET = "host-budget"  # its host has had all the pages that the user allows it
    ADDRESS = "address"  # its host is at an address that is not public
    TYPE = "type"  # not HTML, nor of another type that is read
    TRAP = "trap"  # there is no end of pages like it
    ALLOWANCE = "allowance"  # over its quota: its host or site has no page left


class Response(NamedTuple):
    """A response with a body. `body` is decoded.

    `cut` is why the body is not whole: its cap, the deadline, or what would be the failure if
    nothing had come. `cut_detail` explains that, where the kind alone does not.
    """

    status: int
    headers: Mapping[str, str]  # by lower-case name; several of a name joined by ", "
    body: bytes
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    cut: FailureKind | None = None
    cut_detail: str = ""
    cost_s: float = 0.0  # processor time that it took to decode the body
    record: bytes = b""  # all of this for the archive, if it is kept
    cookies: tuple[
        str, ...
    ] = ()  # Set-Cookie headers, if a jar takes them; no header has them then
    spooled: IO[bytes] | None = None  # the body of a long list of URLs, where it was fetched

    @property
    def broke_off(self) -> bool:
        """Whether another request might bring more of the body."""
        return self.cut not in (None, FailureKind.TOO_LARGE)


class Moved(NamedTuple):
    """A redirect. `target` is as it came, without any login in it; it is checked like any link."""

    status: int
    target: str
    elapsed_s: float = 0.0
    cookies: tuple[str, ...] = ()


class Unchanged(NamedTuple):
    """304: the stored copy is still valid."""

    elapsed_s: float = 0.0
    cookies: tuple[str, ...] = ()


class Refused(NamedTuple):
    """Not requested, or its body not read, for a reason of ours."""

    reason: Refusal
    detail: str = ""
    status: int | None = None
    elapsed_s: float = 0.0
    cost_s: float = 0.0  # processor time for the part of the body that was read
    cookies: tuple[str, ...] = ()


class Failed(NamedTuple):
    """Requested in vain. `retry_after` is the header as it came, `answer` what came with it, if
    that is wanted.
    """

    kind: FailureKind
    detail: str = ""
    status: int | None = None
    retry_after: str | None = None
    elapsed_s: float = 0.0
    cost_s: float = 0.0  # processor time for the part of the body that was read
    cookies: tuple[str, ...] = ()
    answer: Response | None = None


FetchResult = Response | Moved | Unchanged | Refused | Failed


class KeptAnswer(NamedTuple):
    """An answer on its way to the archive: its record, and the time that it gets there.

    Without a record the answer was that the page at `url` has not changed.
    """

    record: bytes
    at: float
    url: str = ""
    importance: float = 0.0
    hops: int = 0


class CrawlerId(NamedTuple):
    """The process that makes a request: a worker, or the crawl's own process."""

    number: int = 0  # of a worker; 0 is the crawl's own process
    pid: int | None = None  # None for the own process, which knows its own

    @property
    def name(self) -> str:
        """As the dashboard names it."""
        return f"worker {self.number}" if self.number else "coordinator"


COORDINATOR = CrawlerId()


class ScriptKind(IntEnum):
    """What the scripts of a page may do for it."""

    NONE = 0  # there are none, or only such as watch its readers
    SOME = 1  # they may add something
    SHELL = 2  # there is next to nothing without them


class Scripting(NamedTuple):
    """The scripts of a page; pages of one template have the same `signature`."""

    kind: ScriptKind = ScriptKind.NONE
    signature: int = 0


NO_SCRIPTS = Scripting()


Originals = tuple[tuple[str, str], ...]
"""Canonical URLs, each with the URL as it was written, if that carries marks of a visit."""


class ParsedPage(NamedTuple):
    """What a page says. `links` has each target once, in the order of the page.

    A link is a canonical URL. Links marked nofollow are not among them, nor is the page itself:
    `self_link` says whether it links to itself.
    """

    title: str = ""
    links: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # for each link the words in and around it, if they are wanted
    written: tuple[str, ...] = ()  # for each link how it is written, if that is wanted
    canonical: str | None = None  # rel=canonical, where it names another page
    refresh: str | None = None  # the target of a meta refresh that leaves at once
    originals: Originals = ()  # of the URLs above
    noindex: bool = False
    encoding: str = "utf-8"
    cut: str = ""  # why not all links are there
    content: int = 0  # 64 bits of a hash of the body, with a sign, as SQLite keeps numbers
    text: int = 0  # a hash of its text without order, if it is wanted
    gist: int = 0  # the same without numbers
    is_thin: bool = False  # it says next to nothing, or only what servers generate
    is_sitemap: bool = False  # it lists pages for crawlers
    sitemaps: tuple[str, ...] = ()  # those of its links that are sitemaps, if it is one
    extracted: str = ""  # its text, if that is kept and only its parser can tell it
    record: bytes = b""  # of that text, for the archive
    scripting: Scripting | None = None  # if pages are rendered
    self_link: bool = False


class State(IntEnum):
    """What is known of a page: waiting, or how its turn ended. The numbers are in stores."""

    UNREAD = 0
    FETCHED = 1
    MOVED = 2  # a redirect: it stands for its target
    CANONICAL = 3  # it names another page as its canonical form, and stands for that
    ALIAS = 4  # it has the content of another page, and stands for that
    TWIN = 5  # the same by its URL, as pages like it have shown: it is not asked for
    FOREIGN = 6  # a page of another shard, where a crawl has several: that one reads it
    # The states of refusals and failures carry their names.
    ROBOTS = 10
    SCOPE = 11
    DEPTH = 12
    HOST_BUDGET = 13
    ADDRESS = 14
    TYPE = 15
    TRAP = 16
    ALLOWANCE = 17
    FOCUS = 18
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
        """The name as it is shown and exported."""
        return self.name.lower().replace("_", "-")

    @property
    def was_read(self) -> bool:
        """Whether its body has come, at least once."""
        return self in READ_STATES

    @property
    def is_failure(self) -> bool:
        """Whether it was requested in vain."""
        return self >= State.DNS

    @property
    def is_dead_end(self) -> bool:
        """Whether a link to it leads nowhere, for a visitor from outside."""
        return self.is_failure or self is State.ADDRESS

    @property
    def outcome(self) -> str:
        """What the store records of a request that failed or was refused."""
        return f"{'failed' if self.is_failure else 'refused'}:{self.label}"

    @classmethod
    def labelled(cls, label: str) -> "State":
        """The state with this label."""
        return cls[label.upper().replace("-", "_")]

    @classmethod
    def of(cls, reason: Refusal | FailureKind) -> "State":
        """The state of a page whose turn ended for this reason."""
        return cls[reason.name]


READ_STATES = (State.FETCHED, State.CANONICAL, State.ALIAS)
"""The states of pages whose body has come."""

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
"""The states of pages that failed for a reason that may pass."""

READABLE = (State.UNREAD, *READ_STATES, *PASSING)
"""The states of pages that were read or may still be: no rule forbids them, and they are pages."""

STANDS_FOR_ANOTHER = (State.MOVED, State.CANONICAL, State.ALIAS, State.TWIN)
"""The states of pages that pass all their cash on to one other page."""

CRAWLED, KNOWN = "crawled", "known"
GRAPHS = (CRAWLED, KNOWN)
"""The graph of the pages that were crawled and the links between them, or of all that are known."""
