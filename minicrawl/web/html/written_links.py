"""Links as written: one short entry for each link of a page.

An entry preserves what was written: href, text and rel. A link written in the usual way, relative
to its page and without text, has an empty entry. Entries contain no separators, so they can be
joined.

entry      form, fragment, text and rel; empty parts at the end are omitted
form       empty for the shortest relative reference, "=" for the whole URL, "/" for its path from
           the root, or "!" and the reference as written
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import accumulate

from minicrawl.web.html.anchors import AnchorTag
from minicrawl.web.urls import resolve_each, split

LONGEST_FORM = 2_000
"""Most characters of a reference as written; longer ones are stored as the resolved URL."""
BETWEEN_ENTRIES, BETWEEN_PARTS = "\x1e", "\x1f"
_WHOLE, _ROOTED, _OTHER = "=", "/", "!"
_SEPARATORS = str.maketrans("", "", "\x1c\x1d\x1e\x1f")


def entries(
    anchors: Mapping[str, AnchorTag],
    links: Collection[str],
    own: str,
    base: str,
    *,
    strip_marks: bool = True,
) -> tuple[str, ...]:
    """Return the entry of each link of the page at `own`, from its first anchor with a text."""
    tags: dict[str, AnchorTag] = {}
    for written, url in resolve_each(anchors, base, strip_marks=strip_marks):
        anchor = anchors[written]
        if url in links and (url not in tags or (anchor.text and not tags[url].text)):
            tags[url] = anchor
    folders = _folders(own)
    return tuple([_entry(tags.get(url), url, folders, has_base=own != base) for url in links])


def read_entry(entry: str, own: str, target: str) -> AnchorTag:
    """Return the link to the target as it was written on the page at `own`."""
    form, text, rel = (*entry.split(BETWEEN_PARTS), "", "")[:3]
    if form.startswith(_OTHER):
        return AnchorTag(form[1:], text, rel)
    if form.startswith(_WHOLE):
        return AnchorTag(target + form[1:], text, rel)
    if form.startswith(_ROOTED):
        return AnchorTag(split(target)[1] + form[1:], text, rel)
    return AnchorTag((_relative(_folders(own), target) or target) + form, text, rel)


def joined(written: Iterable[str]) -> str:
    return BETWEEN_ENTRIES.join(written)


def parted(text: str) -> list[str]:
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
    if href.startswith("/") and href == split(url)[1]:
        return f"{_ROOTED}{hash_sign}{fragment}"
    return _OTHER + written


def _folders(url: str) -> list[str]:
    """Return the folder of a page and those above it, the nearest first."""
    origin, path = split(url)
    names = path.partition("?")[0].split("/")[:-1]
    return list(accumulate((f"{name}/" for name in names), initial=origin))[:0:-1]


def _relative(folders: list[str], url: str) -> str | None:
    """Return the shortest relative reference to a URL; None if it is on another host."""
    for above, folder in enumerate(folders):
        if url.startswith(folder):
            return "../" * above + url[len(folder) :]
    return None
