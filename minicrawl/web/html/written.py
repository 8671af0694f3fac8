"""Links as they are written: one entry for each link of a page, of a few characters.

Laws: what an entry says is what was written: href, text and rel. A link that is written in the
usual way, relative to its page, and says nothing has an empty entry. No entry has a separator in
it, so that entries can be joined.

entry      form, fragment, text and rel; what is empty at its end is left out
form       nothing for the shortest relative reference, "=" for the whole URL, "/" for its path
           from the root, or "!" and whatever is written
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

from minicrawl.web.urls import resolve_each, split

LONGEST_TEXT = 200
"""Characters of the text of a link."""
LONGEST_FORM = 2_000
"""Characters of what is written; what is longer is kept as the URL that it leads to."""
BETWEEN_ENTRIES, BETWEEN_PARTS = "\x1e", "\x1f"
_WHOLE, _ROOTED, _OTHER = "=", "/", "!"
_SEPARATORS = str.maketrans("", "", "\x1c\x1d\x1e\x1f")


class AnchorTag(NamedTuple):
    """The first anchor of a page with some href. Of a link without one, all but that is empty."""

    written: str
    text: str = ""
    rel: str = ""


def entries(
    anchors: Mapping[str, AnchorTag],
    links: Collection[str],
    own: str,
    base: str,
    *,
    strip_marks: bool = True,
) -> tuple[str, ...]:
    """The entry of each link of the page at `own`; of several anchors the first with a text."""
    found: dict[str, AnchorTag] = {}
    for href, url in resolve_each(anchors, base, strip_marks=strip_marks):
        anchor = anchors[href]
        if url in links and (url not in found or (anchor.text and not found[url].text)):
            found[url] = anchor
    folders = _folders(own)
    return tuple([_entry(found.get(url), url, folders, has_base=own != base) for url in links])


def read_entry(entry: str, own: str, target: str) -> AnchorTag:
    """What was written on the page at `own` as a link to the target."""
    form, text, rel = (*entry.split(BETWEEN_PARTS), "", "")[:3]
    if form.startswith(_OTHER):
        return AnchorTag(form[1:], text, rel)
    if form.startswith(_WHOLE):
        return AnchorTag(target + form[1:], text, rel)
    if form.startswith(_ROOTED):
        return AnchorTag(_rooted(target) + form[1:], text, rel)
    return AnchorTag((_relative(_folders(own), target) or target) + form, text, rel)


def joined(found: Iterable[str]) -> str:
    """Entries as one text."""
    return BETWEEN_ENTRIES.join(found)


def parted(text: str) -> list[str]:
    """The entries in a text."""
    return text.split(BETWEEN_ENTRIES)


def _entry(anchor: AnchorTag | None, url: str, folders: list[str], *, has_base: bool) -> str:
    if anchor is None:
        return ""
    written = anchor.written.translate(_SEPARATORS)
    parts = _form(written, url, folders, has_base=has_base), anchor.text, anchor.rel
    return BETWEEN_PARTS.join(parts).rstrip(BETWEEN_PARTS)


def _form(written: str, url: str, folders: list[str], *, has_base: bool) -> str:
    if len(written) > LONGEST_FORM:
        return _WHOLE
    href, hash_sign, fragment = written.partition("#")
    if href == url:
        return f"{_WHOLE}{hash_sign}{fragment}"
    if not has_base and href == _relative(folders, url):
        return hash_sign + fragment
    if href.startswith("/") and href == _rooted(url):
        return f"{_ROOTED}{hash_sign}{fragment}"
    return _OTHER + written


def _folders(url: str) -> list[str]:
    """The folder of a page and those above it, the nearest first."""
    origin, path = split(url)
    names = path.partition("?")[0].split("/")[:-1]
    return list(accumulate((f"{name}/" for name in names), initial=origin))[:0:-1]


def _relative(folders: list[str], url: str) -> str | None:
    """The shortest relative reference to a URL; None if it is of another host."""
    for above, folder in enumerate(folders):
        if url.startswith(folder):
            return "../" * above + url[len(folder) :]
    return None


def _rooted(url: str) -> str:
    return split(url)[1]
