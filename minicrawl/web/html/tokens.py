"""The pattern that finds the tags of a page that matter to a crawl.

Tags are found by the tokenization rules of the HTML standard, so no nesting, no size and no
unclosed markup can hide a tag, and text is never mistaken for a tag. The time is linear for any
text: no quantifier backtracks, an unclosed token extends to the end of the page, and each match
goes on to the end of the next relevant tag:

    <!-- <a href=1> --><p>See <a href="/x">x</a> and <style><a href=2></style><link rel=next>
    |------------ first match ------------||-------------------- second --------------------|

relevant     tag that may be read: an anchor, <base>, <frame>, <iframe>, <link>, <meta>, <title>
idle         relevant tag of which nothing is read, such as a link to a style
skipped      any other tag, and most of the idle ones, as to end a match takes longer than to pass
             a tag
plain        in lower case, with attributes apart and no space before a value, as programs write.
             Most tags are plain, and patterns for them take half the time
raw text     content in which only its own end tag is markup, as in <style>
escaped      script content after "<!--", where an inner <script> hides one </script>
"""

import re
from functools import cache

from minicrawl.web.html.attributes import ATTRIBUTES, STOP

_SPACES = r"[\t\n\f\r ]++"
_NAME = r"""[^\t\n\f\r "'<>/=]++"""
_VALUE = r"""(?:=(?:"[^"]*+"|'[^']*+'|[^\t\n\f\r >"'][^\t\n\f\r >]*+))?+"""
_END = r"[\t\n\f\r ]*+/?+>"


def _plain(without: str = "") -> str:
    """Return the pattern of plain attributes, except those whose names begin so."""
    usual, any_case = (f"(?!{without})", f"(?!(?i:{without}))") if without else ("", "")
    # Nearly all are of the first kind, which takes less time.
    return rf'(?: {usual}[a-z-]++="[^"]*+")*+(?:{_SPACES}{any_case}{_NAME}{_VALUE})*+'


_SCRIPT_END = rf"</script{STOP}"
_HIDDEN = rf"<script{STOP}(?:[^<-]++|-(?!->)|<(?!/script{STOP}))*+(?:{_SCRIPT_END})?+"
_ESCAPED = rf"<!--(?:-?>|(?:[^<-]++|-(?!->)|{_HIDDEN}|(?!{_SCRIPT_END})<)*+(?:-->)?+)"

_COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_BOGUS_COMMENT = r"(?:[!?]|/(?=[^a-zA-Z]))[^>]*+(?:>|\Z)"
_ANY_TAG = rf"/?+[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}(?:>|\Z)"


def _content(name: str) -> str:
    """Return the pattern of raw text, up to the end tag of its element."""
    return rf"[^<]*+(?:<(?!/{name}{STOP})[^<]*+)*+"


def _raw(end_of_tag: str, *names: str) -> str:
    """Return the pattern of the elements whose content is raw text: scripts, and these."""
    start = rf"{STOP}{ATTRIBUTES}{end_of_tag}"
    script = rf"(?:[^<]++|(?i:{_ESCAPED}|(?!{_SCRIPT_END})<))*+"
    elements = (
        rf"(?i:{name}){start}(?i:{_content(name)})"
        for name in ("style", "textarea", "xmp", "noembed", "noframes", *names)
    )
    return "|".join([f"[sS](?i:cript){start}{script}", *elements])


_UNSKIPPED = r"a|area|base|i?+frame|link|meta|plaintext|title"
# By the first letter, as a look ahead at all names takes longer than the rest of a tag.
_SURELY_SKIPPED = (
    r"(?:[c-eghjkoqru-wyz]|p(?!laintext)|s(?!c|tyle)|l(?!ink)|t(?!it|ex)|i(?!frame)|b(?!ase)"
    r"|n(?!o[ef])|f(?!rame)|m(?!eta)|x(?!mp)|a(?![\t\n\f\r />]|rea))[a-z0-9-]*+"
)
_USUAL_ATTRIBUTE = r' [a-z-]++="[^"]*+"'
_RAW_NAMES = "script|style|textarea|xmp|no(?:embed|frames)"

# A <meta> with neither name nor http-equiv, or with a name that no crawler has; a <link> with one
# of these relations; further down, an anchor without href, or with nofollow.
_IDLE_META = (
    rf"meta(?:{_plain('name|http-equiv')}"
    rf'{_SPACES}name="(?:viewport|description|[a-zA-Z-]++:[^"]*+)")?+'
    rf"{_plain('name|http-equiv')}{_END}"
)
_IDLE_LINK = (
    rf"link{_plain('rel')}{_SPACES}rel=[\"']"
    r"(?:stylesheet|(?:dns-)?+prefetch|preconnect|(?:module)?+preload|(?:shortcut )?+icon"
    rf"|apple-touch-icon(?:-precomposed)?+|shortlink|manifest|EditURI)[\"']{_plain()}{_END}"
)

# Of "#top", only "#" is captured: many pages are full of such links. To end all at their fragments
# costs more than it saves, as a search for one of three characters takes longer than for one.
_PLAIN_ANCHOR = (
    rf'a{_plain("href|rel")}{_SPACES}href="(?P<href>#|[^"]*+)[^"]*+"'
    rf'(?:>|{_plain("rel")}(?:{_SPACES}rel="(?:[^"nN]++|[nN](?![oO][fF]))*+"{_plain()})?+{_END})'
)
_IDLE_ANCHOR = (
    rf"a{_plain('href')}{_END}"
    rf"|a{_plain('rel')}{_SPACES}"
    rf'rel="(?:(?!nofollow[ "])[a-z]++ )*+nofollow(?: [a-z]++)*+"{_plain()}{_END}'
)


def _tokens(end_of_raw_tag: str) -> re.Pattern[str]:
    skipped = (
        r"<(?:/[a-zA-Z][a-zA-Z0-9-]*+>"
        rf"|{_SURELY_SKIPPED}(?:>|{_USUAL_ATTRIBUTE}>|{_plain()}{_END})"
        rf"|{_COMMENT}|{_raw(end_of_raw_tag)}|{_IDLE_META}|{_IDLE_LINK}"
        rf"|(?!(?i:{_UNSKIPPED}|{_RAW_NAMES}){STOP})/?+[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}>)"
    )
    return re.compile(
        rf"(?:[^<]*+{skipped})*+[^<]*+"
        rf"(?:<(?:(?P<plain>{_PLAIN_ANCHOR})|{_IDLE_ANCHOR}"
        rf"|(?i:(?P<name>a(?:rea)?+|base|frame|link|meta){STOP}(?P<said>{ATTRIBUTES})>"
        rf"|(?P<raw>title|iframe){STOP}(?P<raw_said>{ATTRIBUTES}){end_of_raw_tag}"
        rf"(?P<content>{_content('(?P=raw)')})|plaintext{STOP}{ATTRIBUTES}>(?s:.*+))"
        # Last, what follows a "<" that does not begin a tag.
        rf"|{_ANY_TAG}|{_BOGUS_COMMENT}|(?:[^<]*+<(?![a-zA-Z/!?]))*+)|\Z)",
        re.ASCII,
    )


HTML = _tokens(">")
"""Pattern that matches up to the end of the next token. The groups of a relevant tag are:

- `href` of a plain anchor, which begins at `plain`
- `name` of another tag, and its attributes `said`
- `raw`, the name of a title or an iframe, its attributes `raw_said` and its `content`
"""

HREF = HTML.groupindex["href"]
"""Number of the group `href`. It is read for every token, and by number in half the time."""


@cache
def xhtml_tokens() -> re.Pattern[str]:
    """Return the pattern for XHTML, where <script/> has no content. It is compiled on demand."""
    return _tokens(_XHTML_END)


_XHTML_END = "(?<!/)>"


@cache
def nesting(*, xhtml: bool) -> re.Pattern[str]:
    """Return the pattern that matches up to the end of the next tag of an element that sets apart.

    Its groups are `name`, with a slash for an end tag, and the attributes `said`. Few tags of a
    page depend on these elements, and most of those come before all of them, in the head.
    """
    end = _XHTML_END if xhtml else ">"
    names = rf"(?i:/?+(?:noscript|svg|template)){STOP}"
    return re.compile(
        rf"(?:[^<]*+<(?:(?!{names})(?:{_COMMENT}|{_raw(end, 'title', 'iframe')}"
        rf"|(?i:plaintext){STOP}{ATTRIBUTES}>(?s:.*+)|{_ANY_TAG}|{_BOGUS_COMMENT}"
        r"|(?![a-zA-Z/!?]))))*+"
        rf"[^<]*+(?:<(?:(?P<name>{names})(?P<said>{ATTRIBUTES})>|{_ANY_TAG})|\Z)",
        re.ASCII,
    )


SETS_APART = re.compile("<(?:[sS][vV][gG]|[tT][eE][mM])")
"""Beginning of a drawing or a template, in which tags say nothing about the page."""
