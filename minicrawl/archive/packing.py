"""Packing: what a worker does with an answer that is to be kept.

Law: an answer becomes a record where it was fetched, so that no body travels between processes. A
dictionary that cannot be read costs room, and never an answer.
"""

from functools import partial
from pathlib import Path

from minicrawl.archive.record import PLAIN, Codec, RecordKind, dictionary_in, pack
from minicrawl.errors import Damaged
from minicrawl.model import FailureKind, Moved, Request, Response
from minicrawl.web.documents.kinds import DocumentType, type_of
from minicrawl.web.headers import parse_content_type
from minicrawl.web.html.encoding import decode

_SPARE = "dictionary-{:04}"
_MOST_READ = 1 << 20
_WITHOUT_MARKUP = (DocumentType.TEXT, DocumentType.MARKDOWN)
_CUT = f"text of the first {_MOST_READ:,} bytes"


def spare_path(folder: Path, number: int) -> Path:
    """The file with a copy of a dictionary: for workers, which read no segments."""
    return folder / _SPARE.format(number)


def spare_dictionary(folder: Path, number: int) -> bytes:
    """A dictionary from its copy; raises `Damaged`."""
    try:
        return dictionary_in(spare_path(folder, number).read_bytes())
    except OSError as error:
        raise Damaged(f"dictionary {number} cannot be read: {error.strerror}") from error


class AnswerPacker:
    """Makes records of answers. Dictionaries are read from the folder of the archive."""

    def __init__(self, folder: Path, *, only_text: bool = False) -> None:
        self.only_text = only_text
        self._codec = Codec(lambda number: spare_dictionary(folder, number))

    def pack(self, request: Request, response: Response, content: int | None = None) -> bytes:
        """The record of an answer, without its time; `content` is the hash of its body, if that is
        known.
        """
        if self.only_text:
            found = _text_only(request, response)
            return self._pack_with_dictionary(RecordKind.TEXT, request, found)
        return self._pack_with_dictionary(RecordKind.PAGE, request, response, content)

    def pack_failure(self, request: Request, answer: Response) -> bytes:
        """The record of what came in place of a page."""
        return self._pack_with_dictionary(RecordKind.FAILURE, request, answer)

    def pack_text(self, request: Request, response: Response, text: str) -> bytes:
        """The same with a text that its parser has found."""
        found = response._replace(body=text.encode("utf-8", "replace"))
        return self._pack_with_dictionary(RecordKind.TEXT, request, found)

    def _pack_with_dictionary(
        self, kind: RecordKind, request: Request, response: Response, content: int | None = None
    ) -> bytes:
        spelled = request.spelled or ""
        packed = partial(
            pack, kind, request.url, response, self._codec, spelled=spelled, content=content
        )
        try:
            return packed(number=request.dictionary)
        except Damaged:
            return packed(number=0)


def pack_redirect(url: str, status: int, target: str) -> bytes:
    """The record of a redirect, whose body is not read."""
    answer = Response(status=status, headers={"location": target}, body=b"")
    return pack(RecordKind.PAGE, url, answer, PLAIN, number=0)


def pack_file(url: str, came: object) -> bytes | None:
    """The record of what a page needs to be shown; None if nothing came of it."""
    match came:
        case Response():
            return pack(RecordKind.PAGE, url, came, PLAIN, number=0)
        case Moved(status=status, target=target):
            return pack_redirect(url, status, target)
    return None


def text_of(body: bytes, content_type: str | None) -> str:
    """The text of a page."""
    from minicrawl.web.html.text import plain_text  # most crawls keep whole pages

    _, charset = parse_content_type(content_type)
    markup, _ = decode(body, charset)
    return plain_text(markup)


def _text_only(request: Request, response: Response) -> Response:
    """The same with the text in place of the body; hostile bodies take a second at most."""
    read, content_type = response.body[:_MOST_READ], response.headers.get("content-type")
    if type_of(content_type, request.url, read, request.types) in _WITHOUT_MARKUP:
        text = decode(read, parse_content_type(content_type)[1])[0]
    else:
        text = text_of(read, content_type)
    found = response._replace(body=text.encode("utf-8", "replace"))
    if len(read) == len(response.body):
        return found
    return found._replace(cut=FailureKind.TOO_LARGE, cut_detail=_CUT)
