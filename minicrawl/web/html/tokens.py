"""The pattern that finds the tags of a page that matter to a crawl.

Tags are found by the tokenization rules of the HTML standard, so no nesting, no size and no
unclosed markup can hide a tag, and text is never mistaken for a tag. The time is linear for any
text: no quantifier backtracks, an unclosed token extends to the end of the page, and each match
goes on to the end of the next relevant tag:

    <!-- <a href=1> --><p>See <a href="/x">x</a> and <style><a href=2></style><link rel=next>
    |------------- one match ------------||---------- another -----------||---- a third -----|

relevant     tag that is read: an anchor, <base>, <frame>, <iframe>, <link>, <meta>, <title>, and
             the start and end of <noscript>, <svg> and <template>
skipped      any other tag
plain        in lower case, with every value in double quotes, as programs write. Most tags are
             plain, and patterns for them take half the time
raw text     content in which only its own end tag is markup, as in <style>
escaped      script content after "<!--", where an inner <script> hides one </script>
"""

from __future__ import annotations

import re
from functools import cache

from minicrawl.web.html.attributes import ATTRIBUTES, STOP

_PLAIN_ATTRIBUTE = r'[ \n]++[a-z-]++="[^"]*+"'
_PLAIN_END = r"[ \n]?+/?+>"

_TARGET = r'(?:id|name)="[^"]*+">'  # anchors to link to, without a link of their own
_NO_LINK = r'rel="(?!(?:alternate|canonical|next|prev|sitemap)")[a-z]++"'
_MAY_BE_RELEVANT = (
    rf"a[\t\n\f\r />](?!{_TARGET})|area|base|i?+frame|link(?![ \n]++{_NO_LINK})|meta|no|plaintext"
    r"|sc|style|svg|t(?:emp|it|ex)|xmp"
)

# A tag that is not plain is skipped, except anchors and tags with these names.
_NAMES = (
    r"area|base|i?+frame|link|meta|/?+(?:noscript|svg|template)|no(?:embed|frames)|plaintext|script"
    r"|style|t(?:itle|extarea)|xmp"
)

# Common tags are tried first, without a loop, because entering a loop is slow. Nor do most end
# tags look ahead for the relevant ones, </noscript>, </svg> and </template>.
_COMMON = r"(?:span|div|p|li|td|tr|code|dd|dt|em|pre|h[1-6]|ul|strong)"
_END = (
    r"(?:s(?:pan|trong|ection)|[a-mo-ru-z][a-z0-9]*+|t[a-df-z][a-z0-9]*+"
    r"|(?![nN][oO]|[sS][vV]|[tT][eE])[a-zA-Z][a-zA-Z0-9]*+)"
)
_SKIPPED = (
    rf'<(?:/{_END}>|{_COMMON}(?:>| [a-z-]++="[^"]*+">)'
    rf"|(?!{_MAY_BE_RELEVANT})[a-z][a-z0-9]*+(?:{_PLAIN_ATTRIBUTE})*+{_PLAIN_END}"
    rf"|(?![aA]{STOP}|(?i:{_NAMES}){STOP})/?+[a-zA-Z][^\t\n\f\r />]*+(?:>|{ATTRIBUTES}>))"
)

# Of "#top", only "#" is captured: many pages are full of such links.
_PLAIN_ANCHOR = (
    r'a[ \n]++(?:(?!href|rel)[a-z-]++="[^"]*+"[ \n]++)*+href="(?P<href>#|[^"]*+)[^"]*+"'
    rf'(?:>|(?:[ \n]++(?!rel)[a-z-]++="[^"]*+")*+{_PLAIN_END})'
)


_RELEVANT = (
    r"(?i:(?P<name>a(?:rea)?+|base|frame|link|meta|/?+(?:noscript|svg|template)))"
    rf"{STOP}(?P<said>{ATTRIBUTES})>"
)

_SCRIPT_END = rf"</script{STOP}"
_HIDDEN = rf"<script{STOP}(?:[^<-]++|-(?!->)|<(?!/script{STOP}))*+(?:{_SCRIPT_END})?+"
_ESCAPED = rf"<!--(?:-?>|(?:[^<-]++|-(?!->)|{_HIDDEN}|(?!{_SCRIPT_END})<)*+(?:-->)?+)"

_OPEN_END = r"(?:>|\Z)"
_OTHER = rf"/?+[a-zA-Z][^\t\n\f\r />]*+{ATTRIBUTES}{_OPEN_END}"
_COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!-!?>)[^-]*+)*+(?:--!?>|\Z))"
_BOGUS_COMMENT = rf"(?:[!?]|/(?=[^a-zA-Z]))[^>]*+{_OPEN_END}"
_MORE_TEXT = r"(?:[^<]*+<(?![a-zA-Z/!?]))*+"  # after a "<" that does not begin a tag


def _raw(end_of_tag: str) -> str:
    text = rf"[^<]*+(?:<(?!/(?P=raw){STOP})[^<]*+)*+"
    script = rf"(?:[^<]++|{_ESCAPED}|(?!{_SCRIPT_END})<)*+"
    return (
        rf"(?i:(?P<raw>t(?:itle|extarea)|iframe|style|xmp|no(?:embed|frames)){STOP}"
        rf"(?P<raw_said>{ATTRIBUTES}){end_of_tag}(?P<content>{text})"
        rf"|script{STOP}{ATTRIBUTES}{end_of_tag}{script}|plaintext{STOP}{ATTRIBUTES}>(?s:.*+))"
    )


def _tokens(end_of_raw_tag: str) -> re.Pattern[str]:
    return re.compile(
        rf"(?:[^<]*+{_SKIPPED})*+[^<]*+"
        rf"(?:<(?:(?P<plain>{_PLAIN_ANCHOR})|{_RELEVANT}|{_raw(end_of_raw_tag)}"
        rf"|{_OTHER}|{_COMMENT}|{_BOGUS_COMMENT}|{_MORE_TEXT})|\Z)",
        re.ASCII,
    )


HTML = _tokens(">")
"""Pattern that matches up to the end of the next token. The groups of a relevant tag are:

- `href` of a plain anchor without rel, which begins at `plain`
- `name` of another tag, and its attributes `said`
- `raw`, the name of a raw text element, its attributes `raw_said` and its `content`
"""

HREF = HTML.groupindex["href"]
"""Number of the group `href`. It is read for every token, and by number in half the time."""


@cache
def xhtml_tokens() -> re.Pattern[str]:
    """Return the pattern for XHTML, where <script/> has no content. It is compiled on demand."""
    return _tokens("(?<!/)>")
