"""Thin pages: those with hardly any text, such as errors, placeholders and empty lists.

Many hosts have the same thin pages, which are not copies of each other.

A page is thin if it has little text, or a heading like those of pages that servers generate. The
check stops when there is enough text, and takes linear time at most.

text      everything outside tags, comments, scripts, styles and the title; a tag ends at the
          first ">"; whitespace is collapsed
heading   the title, or the beginning of the text of a page without a title
"""

import re

from minicrawl.web.html.attributes import STOP, unescaped

ENOUGH = 200
"""Number of characters of text from which a page is not thin."""


def _raw(name: str) -> str:
    return rf"{name}{STOP}(?:[^<]++|<(?!/{name}))*+"


# An unclosed tag extends to the end of the page. No quantifier backtracks.
_TEXT = re.compile(
    r"(?:\s++|<(?:(?:[abdefghijklmnopqruvwxyz/?]|s(?![ct])|t(?![ie]))[^>]*+>"  # most tags
    r"|!--(?:-?>|[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z))"
    rf"|{_raw('script')}|{_raw('style')}|{_raw('template')}|{_raw('title')}"
    r"|[a-z!/?][^>]*+(?:>|\Z)|))*+([^<]{0,1000}+)",
    re.IGNORECASE | re.ASCII,
)
# Scripts, styles and entities have one of the excluded characters before long.
_PROSE = re.compile(r">\s*+([^<>{};=\s][^<>{};=]{11,400}+)<")
_SMALL = 2000  # characters; smaller pages are read as a whole
_PROSE_READ = 16_000
_PROSE_ENOUGH = ENOUGH * 3 // 2  # more than ENOUGH, as whitespace is not collapsed here
_AT_FIRST, _MORE = 1000, 4  # characters to read first, and the factor to read more
_BODY = "<body"

# A number counts only with the words of a status: "404 Not Found", but not "500 recipes".
_WORDS_OF_STATUS = (
    r"(?:page |file )?not found|forbidden|unauthori[sz]ed|bad (?:request|gateway)|access denied"
    r"|gateway time-?out|internal server error|service (?:temporarily )?unavailable|server error"
    r"|too many requests|method not allowed|request time-?out|gone|error|payment required"
)
_WHOLE = (
    rf"{_WORDS_OF_STATUS}|error [45][0-9][0-9]|[45][0-9][0-9]|(?:site |page )?under construction"
    r"|(?:site |page )?under maintenance|maintenance(?: mode)?|coming soon|account suspended"
    r"|just a moment|one moment,? please|please wait|loading|attention required|redirecting"
    r"|checking your browser|untitled(?: document| page)?|default page|test page|it works"
    r"|object moved|document (?:has )?moved|domain default page|parked domain|domain parking"
    r"|access to this page has been denied|sorry, you have been blocked|page unavailable"
)
_HEADING = re.compile(
    rf"(?:{_WHOLE})[.!…]*+(?:\Z| ?[|·«»–—-])"
    rf"|(?:http )?(?:error )?[45][0-9][0-9](?: -| –|:)? (?:{_WORDS_OF_STATUS})"
    r"|index of /|directory listing (?:for|of) /|welcome to (?:nginx|openresty|centos|caddy)"
    r"|apache2? (?:[a-z]+ )?default page|iis windows|buy this domain"
    r"|(?:[a-z]+ )?(?:apache |nginx )?(?:http )?(?:server )?test page"
    r"|(?:the |this )?domain (?:name )?(?:\S+ )?(?:is|may be|has) (?:parked|for sale|expired)"
    r"|(?:the |this )?(?:site|website|page) is (?:under construction|coming soon|parked|for sale)"
    r"|[^\s.]++(?:\.[^\s.]++)++ (?:is|may be) (?:parked|for sale)"
)
_LONGEST_HEADING = 100


def is_thin(text: str, title: str) -> bool:
    """Return True if a page with this text and this title is thin."""
    if title and _is_generated_heading(title):
        return True
    start = max(text.find(_BODY), 0)
    if _has_prose(text, start):
        return False
    read = _AT_FIRST  # enough characters after <body>, or all
    while len(beginning := _words(_TEXT.findall(text, start, start + read))) < ENOUGH:
        if start + read >= len(text):
            return True
        read *= _MORE
    return not title and _is_generated_heading(beginning)


def _is_generated_heading(heading: str) -> bool:
    return _HEADING.match(heading[:_LONGEST_HEADING].lower()) is not None


def _has_prose(text: str, start: int) -> bool:
    """Return True if the middle has enough text: a quick check for most pages."""
    if len(text) - start < _SMALL:
        return False
    chars, middle = 0, (start + len(text)) // 2
    for piece in _PROSE.finditer(text, middle, middle + _PROSE_READ):
        chars += len(piece[1])
        if chars >= _PROSE_ENOUGH:
            return True
    return False


def visible_text(text: str) -> str:
    """Return the text of a page outside its tags, scripts, styles and title, in one line."""
    return _words(_TEXT.findall(text))


def _words(pieces: list[str]) -> str:
    text = "\n".join(pieces)
    return " ".join((unescaped(text) if "&" in text else text).split())
