"""The words everyone uses: what is asked of the network and what it answered, as plain values.

request    one URL, asked once; redirects are not followed here, each hop is a request of its own
fetched    what came of it: a page, a move, a refusal, a failure of a named kind; never an exception
reading    what a page says: its links, each canonical and once, and what it asks of robots

They travel between processes, a few for each page: as tuples they do so in half of the time.
"""

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Want(StrEnum):
    """What a request is for; it decides which bodies are worth reading."""

    PAGE = "page"  # HTML only: anything else is closed before its body comes
    TEXT = "text"  # robots.txt, whatever type the server claims
    SITEMAP = "sitemap"  # the same, and it is read as a sitemap


class Request(NamedTuple):
    """One URL to ask for; with validators of the copy we know, a server may answer `Unchanged`."""

    url: str
    want: Want = Want.PAGE
    max_bytes: int = 10_000_000
    etag: str | None = None
    last_modified: str | None = None
    spelled: str | None = None  # with the marks of a visit that the server insists on
    suspicious: int = 0  # titles of which pages are to be compared by what they say, as bits


class FailureKind(StrEnum):
    """Why there is no answer that counts; what follows from each is a table of the crawl's."""

    DNS = "dns"  # the name has no address, or the resolver failed
    CONNECT = "connect"  # refused, unreachable
    TLS = "tls"  # certificate or handshake
    TIMEOUT = "timeout"  # the deadline over everything passed
    RESET = "reset"  # the connection ended before the answer did
    PROTOCOL = "protocol"  # what came is no HTTP
    ENCODING = "encoding"  # a Content-Encoding that is broken, unknown or a bomb
    TOO_LARGE = "too-large"  # headers or a body past the cap
    CROWDED = "crowded"  # the largest of all bodies under way, when they were too large together
    THROTTLED = "throttled"  # 429: asks us to slow down
    SERVER_ERROR = "server-error"  # 5xx
    NOT_FOUND = "not-found"  # 404 and 410
    CLIENT_ERROR = "client-error"  # any other 4xx
    BAD_STATUS = "bad-status"  # a status that means nothing for a GET
    BAD_REDIRECT = "bad-redirect"  # a 3xx without a target that can be asked, or one too many
    LOST = "lost"  # the process of ours that asked for it ended over it
    INTERRUPTED = "interrupted"  # we ended the request for reasons that are not the page's


class Refusal(StrEnum):
    """Why a page that is known is never asked for, or its answer never read."""

    ROBOTS = "robots"  # robots.txt says no, or could not be had
    SCOPE = "scope"  # outside what the user asked for
    DEPTH = "depth"  # more links away from the seeds than allowed
    HOST_BUDGET = "host-budget"  # its host has had all the pages it may have
    ADDRESS = "address"  # it leads to an address that is not public
    TYPE = "type"  # not HTML
    TRAP = "trap"  # there would be no end of pages like it
    ALLOWANCE = "allowance"  # its host or site has had as many pages as it has earned


class Response(NamedTuple):
    """An answer with a body that counts. `body` is decoded; `cut` is what kept the rest from us:
    the cap, the deadline, or whatever would be the failure if nothing had come; `cut_detail` says
    it in words where the kind alone does not tell. `cost_s` is the processor time that it took.
    """

    status: int
    headers: Mapping[str, str]  # by lower-case name; several of a kind joined by ", "
    body: bytes
    wire_bytes: int = 0
    elapsed_s: float = 0.0
    cut: FailureKind | None = None
    cut_detail: str = ""
    cost_s: float = 0.0  # processor time that it took to decode the body

    @property
    def broke_off(self) -> bool:
        """Whether there might be more of it if it were asked for again."""
        return self.cut not in (None, FailureKind.TOO_LARGE)


class Moved(NamedTuple):
    """A redirect. `target` is as the server wrote it: it must pass the gates like any link."""

    status: int
    target: str
    elapsed_s: float = 0.0


class Unchanged(NamedTuple):
    """304: the copy we know is still right."""

    elapsed_s: float = 0.0


class Refused(NamedTuple):
    """Not asked, or asked and hung up on, for a reason of ours."""

    reason: Refusal
    detail: str = ""
    status: int | None = None
    elapsed_s: float = 0.0
    cost_s: float = 0.0  # of what was read of a body


class Failed(NamedTuple):
    """Asked in vain. `retry_after` is the header as it came; who reads it knows the time."""

    kind: FailureKind
    detail: str = ""
    status: int | None = None
    retry_after: str | None = None
    elapsed_s: float = 0.0
    cost_s: float = 0.0  # of what was read of a body


FetchResult = Response | Moved | Unchanged | Refused | Failed


Originals = tuple[tuple[str, str], ...]
"""Canonical URLs, each with the one that was written where that had marks of a visit as well."""


class ParsedPage(NamedTuple):
    """What a page says. `links` holds each target once, in the order of the page.

    A link is a canonical URL. Links marked nofollow are not among them, nor is the page itself.
    """

    title: str = ""
    links: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # for each link those in and around it, if anybody wants them
    canonical: str | None = None  # rel=canonical, where it names another page
    refresh: str | None = None  # the target of a meta refresh that leaves at once
    originals: Originals = ()  # of the URLs above
    noindex: bool = False
    encoding: str = "utf-8"
    cut: str = ""  # why not all links are there
    content: int = 0  # 64 bits of a hash of the body, with a sign, as SQLite keeps numbers
    text: int = 0  # a hash of what it says, if anybody wants it, without markup and order
    gist: int = 0  # the same without numbers
    is_thin: bool = False  # it says next to nothing, or what servers say by themselves


class State(IntEnum):
    """What is known of a page: waiting, or how its turn ended. The numbers are in stores."""

    UNREAD = 0
    FETCHED = 1
    MOVED = 2  # a redirect: it stands for its target
    CANONICAL = 3  # it names another page as its canonical form, and stands for that
    ALIAS = 4  # it has the content of another page, and stands for that
    TWIN = 5  # the same by its URL, as pages like it have shown: it is not asked for
    # The states of refusals and failures carry their names.
    ROBOTS = 10
    SCOPE = 11
    DEPTH = 12
    HOST_BUDGET = 13
    ADDRESS = 14
    TYPE = 15
    TRAP = 16
    ALLOWANCE = 17
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

    @property
    def label(self) -> str:
        """As people and programs read it."""
        return self.name.lower().replace("_", "-")

    @property
    def was_read(self) -> bool:
        """Its body came, at least once."""
        return self in READ_STATES

    @property
    def is_failure(self) -> bool:
        """It was asked for in vain."""
        return self >= State.DNS

    @property
    def outcome(self) -> str:
        """What is recorded of a request that made it a failure or a refusal."""
        return f"{'failed' if self.is_failure else 'refused'}:{self.label}"

    @classmethod
    def labelled(cls, label: str) -> "State":
        """The state that is called so."""
        return cls[label.upper().replace("-", "_")]

    @classmethod
    def of(cls, reason: Refusal | FailureKind) -> "State":
        """The state of a page whose turn ended for this reason."""
        return cls[reason.name]


READ_STATES = (State.FETCHED, State.CANONICAL, State.ALIAS)
"""Of the pages whose body came."""

STANDS_FOR_ANOTHER = (State.MOVED, State.CANONICAL, State.ALIAS, State.TWIN)
"""Of the pages that hand all they have to one other."""
