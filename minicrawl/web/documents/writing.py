"""Plain text and Markdown: their links, titles and headings, as rendered.

The time is linear for any text: no quantifier backtracks, and none is tried again on text it has
read. Each link comes once, in the order of the text. Code in Markdown has no links.

bare       URL in the text, such as `https://example.org/`
fence      line before and after code, of backticks or tildes
"""

import re
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from minicrawl.web.html.attributes import href, unescaped
from minicrawl.web.html.scanner import TITLE_LENGTH

_LONGEST_HREF = 8192
_LONGEST_WORDS = 200
_LONGEST_LINE = 4 * TITLE_LENGTH
_MOST_HEADINGS = 10_000


class Written(NamedTuple):
    """Title, links and headings of a text. Links are as written, each with its words."""

    title: str
    links: dict[str, str]
    headings: tuple[str, ...] = ()


def tidy(text: str, most: int = TITLE_LENGTH) -> str:
    """Return one line of at most `most` characters, without invalid characters."""
    line = " ".join(text[: 4 * most].replace("\0", " ").split())
    return line[:most].encode("utf-8", "replace").decode().rstrip()


_IN_A_URL = r"[^\s<>\"`\\{}|\0-\x1f]"
_BARE = re.compile(rf"https?://{_IN_A_URL}{{1,{_LONGEST_HREF}}}+", re.IGNORECASE)
_AFTER_A_URL = "?!.,:;*_~'"
"""Punctuation at the end of a bare URL that belongs to the sentence (GitHub Flavored Markdown,
6.9).
"""
_PAIRS = (("(", ")"), ("[", "]"))


def _trimmed(url: str) -> str:
    """Strip trailing punctuation, but keep a closing bracket that the URL has opened."""
    left = {closing: url.count(closing) - url.count(opening) for opening, closing in _PAIRS}
    end = len(url)
    while end:
        last = url[end - 1]
        if left.get(last, 0) > 0:
            left[last] -= 1
        elif last not in _AFTER_A_URL:
            break
        end -= 1
    return url[:end]


def read_text(text: str) -> Written:
    """Read plain text. Its title is its first line."""
    lines = text.lstrip().split("\n", 1)
    urls = (_trimmed(url[0]) for url in _BARE.finditer(text))
    return Written(tidy(lines[0]), dict.fromkeys(urls, ""))


_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
_FRONT_MATTER = re.compile(r"---[\t ]*+\n((?:(?!---[\t ]*+$).*\n){0,200}+)", re.MULTILINE)
_FRONT_TITLE = re.compile(r"^title:[\t ]*+(.++)$", re.MULTILINE)
_HEADING = re.compile(r" {0,3}#{1,6}[\t ]++(.*+)")
_UNDERLINE = re.compile(r" {0,3}(?:=++|-++)[\t ]*+\Z")
_LIST_ITEM = re.compile(r"[\t ]*+(?:[-*+]|[0-9]{1,9}[.)])[\t ]")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)([^\[\]]{1,999}+)\]:[\t ]*+(?:<([^<>]++)>|([^\s<]\S*+))")
_CODE_MARK = re.compile("`++")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGNS = str.maketrans("", "", "*_`[]")
_TOKEN = re.compile(
    r"\\."
    r"|(?P<opens>!?\[)"
    r"|\](?P<target>\([\t ]*+(?:<(?P<pointed>[^<>]*+)>"
    r"|(?P<plain>(?:[^\s()<\\]|\\.|\((?:[^\s()\\]|\\.)*+\))++)))?+"
    r"|<(?P<auto>https?://[^\s<>]*+)>"
    r"|<a[\t ](?P<said>[^<>]*+)>"
    rf"|(?P<bare>https?://{_IN_A_URL.replace('^', '^][', 1)}{{1,{_LONGEST_HREF}}}+)",
    re.IGNORECASE,
)


def read_markdown(text: str) -> Written:
    """Read CommonMark with bare URLs.

    The title is that of the front matter, or else the first heading.
    """
    front = _FRONT_MATTER.match(text)
    lines = _lines_without_code(text[front.end() :] if front else text)
    headings = tuple(islice(_headings(lines), _MOST_HEADINGS))
    named = _FRONT_TITLE.search(front[1]) if front else None
    title = tidy(named[1].strip().strip("\"'")) if named else ""
    links: dict[str, str] = {}
    for target, words in chain.from_iterable(_links(_without_code(line)) for line in lines):
        if target and len(target) <= _LONGEST_HREF:
            links.setdefault(target, words)
    return Written(title or next(iter(headings), ""), links, headings)


def _lines_without_code(text: str) -> list[str]:
    """Return the lines of a text, without fenced code and with indented code blanked."""
    lines, fence, is_apart = list[str](), "", True
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark and "`" not in line[mark.end() :]:
            fence = mark[1]
        else:
            is_code = is_apart and line.startswith(("    ", "\t")) and not _LIST_ITEM.match(line)
            is_apart = is_code or not line.strip()
            lines.append("" if is_code else line)
    return lines


def _without_code(line: str) -> str:
    """Remove code spans: each ends at the next run of as many backticks."""
    marks = list(_CODE_MARK.finditer(line))
    ends: dict[int, int] = {}
    end_of: list[int | None] = [None] * len(marks)
    # From the end, so that one pass tells each run of backticks the next one of its length.
    for number in reversed(range(len(marks))):
        length = len(marks[number][0])
        end_of[number] = ends.get(length)
        ends[length] = number
    pieces, begin, number = list[str](), 0, 0
    while number < len(marks):
        end = end_of[number]
        if end is not None:
            pieces.append(line[begin : marks[number].start()])
            begin, number = marks[end].end(), end
        number += 1
    return " ".join([*pieces, line[begin:]])


def _headings(lines: list[str]) -> Iterator[str]:
    before = ""
    for line in lines:
        heading = _HEADING.match(line)
        title = ""
        if heading:
            title = heading[1].rstrip().rstrip("#")
        elif _UNDERLINE.match(line):
            title = before
        if title := tidy(_ESCAPED.sub(r"\1", title[:_LONGEST_LINE]).translate(_SIGNS)):
            yield title
        before = "" if heading else line


def _links(line: str) -> Iterator[tuple[str, str]]:
    """Yield the links of a line with their words; a link from an earlier line has none."""
    if defined := _DEFINITION.match(line):
        yield _target(defined[2] or defined[3]), tidy(defined[1], _LONGEST_WORDS)
        return
    opened: list[tuple[bool, int]] = []
    for token in _TOKEN.finditer(line):
        if opens := token["opens"]:
            opened.append((opens[0] == "!", token.end()))
        elif token[0][0] == "]":
            is_image, begin = opened.pop() if opened else (False, token.start())
            if token["target"] and not is_image:
                begin = max(begin, token.start() - _LONGEST_WORDS)
                words = tidy(line[begin : token.start()].translate(_SIGNS), _LONGEST_WORDS)
                yield _target(token["pointed"] or token["plain"] or ""), words
        elif tag := token["said"]:
            yield unescaped(href(tag) or ""), ""
        elif url := token["auto"] or _trimmed(token["bare"] or ""):
            yield url, ""


def _target(written: str) -> str:
    return unescaped(_ESCAPED.sub(r"\1", written))
