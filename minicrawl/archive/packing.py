"""Packing, in the workers: each answer becomes a record where it was fetched.

Laws: only compressed bytes travel between processes. If a dictionary cannot be read, the record is
larger, but never lost.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from minicrawl.archive.codec import PLAIN, Codec
from minicrawl.archive.record import (
    NOTHING_MORE,
    AskedBy,
    RecordKind,
    WantedFiles,
    dictionary_in,
    pack,
    pack_spooled,
    pack_unchanged,
)
from minicrawl.errors import Damaged
from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response, Unchanged
from minicrawl.states import State
from minicrawl.web.encoding.detection import decode
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.responses.types import DocumentType, type_of

PAYLOAD = "payload-"
"""Beginning of the names of files with payloads on their way to the archive."""
_MOST_READ = 1 << 20
_WITHOUT_MARKUP = (DocumentType.TEXT, DocumentType.MARKDOWN)
_CUT = f"text of the first {_MOST_READ:,} bytes"


def spare_path(folder: Path, number: int) -> Path:
    """Return the path of a dictionary's copy for workers, which do not read segments."""
    return folder / f"dictionary-{number:04}"


def spare_dictionary(folder: Path, number: int) -> bytes:
    """Return a dictionary from its copy. Raise `Damaged` if that cannot be read."""
    try:
        return dictionary_in(spare_path(folder, number).read_bytes())
    except OSError as error:
        raise Damaged(f"dictionary {number} cannot be read: {error.strerror}") from error


class AnswerPacker:
    """Makes records of answers, with dictionaries from the archive's folder."""

    def __init__(self, folder: Path, *, only_text: bool = False) -> None:
        self.only_text, self._folder = only_text, folder
        self._codec = Codec(lambda number: spare_dictionary(folder, number))

    def pack(self, request: Request, response: Response, content: int | None = None) -> bytes:
        """Return the record of an answer, without its time.

        `content` is the hash of the body, if already known.
        """
        if not self.only_text:
            return self._pack_with_dictionary(RecordKind.PAGE, request, response, content)
        # Only the beginning is parsed: hostile markup then takes at most about a second.
        read, content_type = response.body[:_MOST_READ], response.headers.get("content-type")
        if type_of(content_type, request.url, read, request.types) in _WITHOUT_MARKUP:
            text = decode(read, parse_content_type(content_type)[1])[0]
        else:
            text = text_of(read, content_type)
        if len(read) < len(response.body):
            response = response._replace(cut=State.TOO_LARGE, cut_detail=_CUT)
        return self.pack_text(request, response, text)

    def pack_other(self, request: Request, refused: Refused) -> Refused:
        """Return the refusal of a file with a record of that file, unless only text is kept.

        The payload of a large file is left as a file in the archive's folder, for `take_payload`.
        On a full disk there is no record.
        """
        answer = refused.answer
        if answer is None or self.only_text:
            return refused._replace(answer=None)
        path, bare = "", answer._replace(headers={}, body=b"", spooled=None, wire=None)
        if answer.spooled is None:
            return refused._replace(answer=bare._replace(record=self.pack(request, answer)))
        try:
            with (
                answer.spooled as body,
                NamedTemporaryFile(dir=self._folder, prefix=PAYLOAD, delete=False) as payload,
            ):
                path = payload.name
                record = pack_spooled(request.url, answer, body, payload)
        except OSError:
            if path:
                Path(path).unlink(missing_ok=True)
            return refused._replace(answer=None)
        return refused._replace(answer=bare._replace(record=record), payload=path)

    def pack_failure(self, request: Request, answer: Response) -> bytes:
        """Return the record of a failure's body, such as an error page."""
        return self._pack_with_dictionary(RecordKind.FAILURE, request, answer)

    def pack_rendered(self, request: Request, response: Response, files: WantedFiles) -> bytes:
        """Return the record of a page after its scripts, or of its text."""
        if self.only_text:
            return self.pack(request, response)
        more = {"asked": files} if any(files) else NOTHING_MORE
        return self._pack_with_dictionary(RecordKind.RENDERED, request, response, more=more)

    def pack_text(self, request: Request, response: Response, text: str) -> bytes:
        """Return the record of an answer whose body is `text`, which a parser extracted."""
        of_text = response._replace(body=text.encode("utf-8", "replace"))
        return self._pack_with_dictionary(RecordKind.TEXT, request, of_text)

    def _pack_with_dictionary(
        self,
        kind: RecordKind,
        request: Request,
        response: Response,
        content: int | None = None,
        more: Mapping[str, object] = NOTHING_MORE,
    ) -> bytes:
        of_page = kind, request.url, response, self._codec
        packed = partial(
            pack, *of_page, request_url=request.request_url or "", content=content, more=more
        )
        try:
            return packed(number=request.dictionary)
        except Damaged:
            return packed(number=0)


def pack_redirect(url: str, moved: Moved, more: Mapping[str, object] = NOTHING_MORE) -> bytes:
    """Return the record of a redirect, with a body only in a crawl with --raw-bodies."""
    answer = moved.answer or Response(moved.status, {"location": moved.target}, b"")
    answer = answer._replace(wire=moved.wire)
    return pack(RecordKind.PAGE, url, answer, PLAIN, number=0, more=more)


def pack_any(url: str, fetched: object, by: AskedBy | None = None) -> bytes | None:
    """Return the record of a response that no worker has packed, or None without a response.

    `by` describes the browser's request for the file, if a browser asked for it.
    """
    more = NOTHING_MORE if by is None else {"by": by}
    match fetched:
        case Response():
            return pack(RecordKind.PAGE, url, fetched, PLAIN, number=0, more=more)
        case Moved():
            return pack_redirect(url, fetched, more)
        case Failed(answer=Response() as answer):
            return pack(RecordKind.FAILURE, url, answer, PLAIN, number=0, more=more)
    return None


def record_of(url: str, fetched: FetchResult) -> bytes | None:
    """Return the record of a worker's fetch result, or None if it has none."""
    match fetched:
        case Response():
            return fetched.record or None
        case Moved():
            return pack_redirect(url, fetched)
        case Unchanged():
            return pack_unchanged(url, fetched.wire)
        case Failed(answer=Response() as answer) | Refused(answer=Response() as answer):
            return answer.record or None
    return None


def take_payload(path: str) -> IO[bytes]:
    """Open the payload file that a worker left, and unlink it."""
    file = Path(path).open("rb")  # noqa: SIM115  # the archive closes it
    Path(path).unlink()
    return file


def text_of(body: bytes, content_type: str | None) -> str:
    from minicrawl.web.html.page_text import plain_text  # deferred: most crawls archive whole pages

    _, charset = parse_content_type(content_type)
    markup, _ = decode(body, charset)
    return plain_text(markup)
