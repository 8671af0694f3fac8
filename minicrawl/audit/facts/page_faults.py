r"""Faults in the markup of one page, counted: links, controls, leaked errors.

Any markup is read in linear time: no pattern crosses the start of the next tag of its kind. Each
fault has a look-alike that is none:

    <a href="htp://a.example">        bad_links 1       href="http://[::1]/" is an address
    <a href="mailto:me">              bad_contacts 1    href="mailto:?subject=Read" shares a page
    <a href=/b><i></i></a>            nameless 1        <a href=/b><img alt=Home></a> has a name
    <html lang=de>The cat is in the …  other_language 1  the same as a quotation, or in <pre>
    <input name=q>                    unlabelled 1      <label>Find <input name=q></label>
    Warning: x() in a.php on line 3   error_texts 1     the same inside <pre>, as manuals show it
"""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote

from minicrawl.web.html.attributes import ATTRIBUTES, STOP, attributes, href, unescaped
from minicrawl.web.urls import canonical, host

FAULTS = (
    *("bad_links", "bad_contacts", "script_links", "campaign_links", "vague_links", "nameless"),
    *("unlabelled", "untitled_frames", "repeated_ids", "unsized", "zoom_off", "charset_conflict"),
    *("canonical_late", "data_gaps", "error_texts", "listing", "says_missing", "open_password"),
    *("weak_cookies", "other_language", "skipped_headings"),
)
"""Names of the counts; `page_facts` makes those of single tags of the head, and of data."""

COMMENT = r"!--(?:-?>|[^-]*+(?:-(?!->)[^-]*+)*+(?:-->|\Z))"
_FLAGS = re.IGNORECASE | re.ASCII


def element_pattern(names: str) -> re.Pattern[str]:
    """Return a pattern of comments, and of elements with these names up to their end."""
    return re.compile(rf"<(?:{COMMENT}|({names}){STOP}(?:[^<]++|<(?!/\1{STOP}))*+)", _FLAGS)


_UNSEEN = element_pattern("script|style|template|noscript")
_QUOTED = element_pattern("pre|code|samp|kbd|textarea|blockquote")
_ANCHOR = re.compile(
    rf"<(?P<tag>a|button){STOP}(?P<attributes>{ATTRIBUTES})(?:>|\Z)"
    rf"(?P<inside>(?:[^<]++|<(?!/?(?:a|button){STOP}))*+)",
    _FLAGS,
)
_FORM = re.compile(rf"<form{STOP}({ATTRIBUTES})(?:>|\Z)((?:[^<]++|<(?!/?form{STOP}))*+)", _FLAGS)
_LABEL = re.compile(rf"<label{STOP}({ATTRIBUTES})(?:>|\Z)(?:[^<]++|<(?!/?label{STOP}))*+", _FLAGS)
_TAG = re.compile(rf"<(input|select|textarea|iframe|img){STOP}({ATTRIBUTES})(?:>|\Z)", _FLAGS)
_ID = re.compile(
    r"""<[a-z][^<>]*?\sid\s*+=\s*+(?:"([^"<>]*+)"|'([^'<>]*+)'|([^\s"'<>]++))""", _FLAGS
)
_HEADING = re.compile(rf"<h([1-6]){STOP}", _FLAGS)
_LISTING = re.compile(
    r"<(?:title|h1)\b[^<>]*>\s*+(?:index of /|directory listing for /)", re.IGNORECASE
)
_TAGS = re.compile(r"<[^<>]*+(?:>|(?=<)|\Z)")
_NAMED = re.compile(
    r"""\b(?:alt|aria-label|aria-labelledby|title)\s*+=\s*+["']?[^"'\s>]|<title\b""", re.IGNORECASE
)
_BAD_LINK = re.compile(
    r"""https?:(?!//)|https?://(?:[\s/?#]|\Z|\[(?![0-9a-f:.]++\]))|h?t{1,3}ps?(?<!http)(?<!https)://"""
    r"""|hhttps?:|https?(?:;//|//)|www\.[\w-]++\.\w""",
    re.IGNORECASE,
)
_ADDRESS = r"[^@\s,?]++@(?=[^@\s,?]*\.)[^@\s,?]++"
_MAIL = re.compile(rf"mailto:\s*(?:{_ADDRESS}(?:\s*,\s*{_ADDRESS})*+\s*)?(?:\?.*)?", re.IGNORECASE)
_PHONE = re.compile(r"tel:\+?[\d*#][\d\s().,*#/-]+(?:;.*)?", re.IGNORECASE)
_CAMPAIGN = re.compile(r"[?&](?:utm_(?:source|medium|campaign|term|content)|mc_cid)=")
_VAGUE_TEXTS = """
here|click here|click|more|read more|learn more|this|link|this link|this page|go|details
hier|hier klicken|klicken sie hier|mehr|mehr lesen|weiterlesen|link|diese seite
ici|cliquez ici|lire la suite|en savoir plus|aquí|haga clic aquí|leer más|qui|clicca qui
"""
_VAGUE = frozenset(re.split(r"[|\n]", _VAGUE_TEXTS)) - {""}
_HIDDEN_FRAME = re.compile(r"hidden|display:\s*none|(?:width|height)=[\"']?[01]\b")
_UNTYPED = frozenset(("hidden", "submit", "button", "reset", "image"))
_ERROR = re.compile(
    r"(?:fatal error|parse error|warning|notice|deprecated):\s.{1,300}?\sin\s\S+\.php"
    r"(?:\(\d+\))?\son\sline\s\d|traceback \(most recent call last\):|you have an error in your sql"
    r"|sqlstate\[\w+\]|\bora-\d{5}:|unclosed quotation mark after the character string"
    r"|server error in '/[^']*' application|actionview::template::error"
    r"|\bat [\w.$]+\(\w+\.java:\d+\)|uncaught pdoexception",
    re.IGNORECASE,
)
ERROR_MARKS = (
    *("on line", "traceback (", "sql syntax", "sqlstate[", "ora-", "quotation mark after"),
    *("server error in", "actionview", ".java:", "pdoexception", "lorem"),
)
"""Each error has one of these, and placeholder text."""
_FILLER = re.compile(r"lorem\s+ipsum\s+dolor")
_MISSING = re.compile(
    r"(?:error|fehler|erreur)?\W*404(?:\W+(?:error|fehler|(?:page |file |seite )?not found"
    r"|seite nicht gefunden))?|(?:(?:the |this )?(?:page|file|document) )?(?:was |could )?not "
    r"(?:be )?found|(?:die )?seite (?:wurde |konnte )?nicht gefunden(?: werden)?|nicht gefunden"
    r"|page (?:introuvable|non trouvée)|página no encontrada|pagina non trovata",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_USUAL_TEXTS = {
    "cs": "a se na je že v to s z do o i jako za by ale který pro jsou po",
    "de": "der die und das ist nicht ein eine mit den von zu auf für sich dem des auch wie wir",
    "en": "the of and to in is that for it with as on are this you be from not have or",
    "es": "de la que el en y los se del las un por con una para es no su al lo",
    "fr": "de la le les et des en un une du est que dans pour qui pas sur au par vous",
    "it": "di che la il e un per una non sono con del si da le della i nel più come",
    "nl": "de het een en van in is dat op te niet zijn met voor die aan er ook als bij",
    "pl": "i w na z się nie do to jest że o jak za po od co dla przez są ale",
    "pt": "de que o e a do da em um para com não uma os no se na por mais as",
    "ru": "и в не на что с по это как из для к от у его но а то за все",  # noqa: RUF001
    "sv": "och att det i en som på är av för med den till inte om ett han var jag de",
    "tr": "ve bir bu da de için ile çok olarak daha olan gibi en kadar sonra ne ama her var mi",
}
"""Most frequent words of languages; a text has a third of such words."""
_USUAL_WORDS = {code: text.split() for code, text in _USUAL_TEXTS.items()}
_FEWEST_WORDS, _MOST_READ_WORDS = 60, 300
_LEAST_USUAL, _MUCH_MORE_USUAL = 0.2, 5
"""Least share of usual words of another language, and how many times the share of the declared."""
_SEPARATOR = re.compile(r"\s+[|–—·•:-]+\s+|:\s")
_MOST_WORDS = 150
"""Most words of a page that only says that it is missing; an article about 404 has more."""


def faults_of(
    markup: str, url: str, headers: Mapping[str, str], titles: Iterable[str], lang: str, plain: str
) -> Counter[str]:
    """Count the faults of a page, and its words.

    `titles` are its title and main heading, `lang` the language that it declares, and `plain` its
    text in lower case.
    """
    visible, words = without_unseen(markup), _WORD.findall(plain)
    faults = Counter(name for name, _ in placed_faults(visible, url))
    faults["words"] = len(words)
    is_open = not url.startswith("https:")
    unneeded = {"secure"} if is_open else set[str]()
    for form, inside in _FORM.findall(visible):
        if re.search(r"""\btype\s*=\s*["']?password\b""", inside, re.IGNORECASE):
            is_get = attributes(form).get("method", "get").strip().lower() != "post"
            faults["open_password"] += is_open or is_get
    faults["listing"] = _LISTING.search(visible) is not None
    # Whatever is quoted is no fault. It is left out only where there seems to be one: seldom.
    if _is_in_another(lang, words) or any(mark in plain for mark in ERROR_MARKS):
        prose = unescaped(_TAGS.sub("", _QUOTED.sub("", visible))).lower()
        faults["error_texts"] = len(_ERROR.findall(prose))
        faults["filler"] = _FILLER.search(prose) is not None
        faults["other_language"] = _is_in_another(lang, _WORD.findall(prose))
    faults["says_missing"] = len(words) < _MOST_WORDS and any(
        _MISSING.fullmatch(part.strip(" .!")) for text in titles for part in _SEPARATOR.split(text)
    )
    for cookie in filter(None, headers.get("set-cookie", "").split("\n")):
        flags = {part.strip().partition("=")[0].lower() for part in cookie.split(";")[1:]}
        faults["weak_cookies"] += not {"httponly", "samesite", "secure"} - unneeded <= flags
    return faults


def _is_in_another(lang: str, words: Sequence[str]) -> bool:
    """Return True if a text is in another of the known languages than it declares."""
    declared, sample = lang.lower().partition("-")[0], words[:_MOST_READ_WORDS]
    if declared not in _USUAL_WORDS or len(sample) < _FEWEST_WORDS:
        return False
    counts = Counter(sample)
    usual = {code: sum(map(counts.__getitem__, common)) for code, common in _USUAL_WORDS.items()}
    least = max(_LEAST_USUAL * len(sample), _MUCH_MORE_USUAL * usual[declared])
    return max(usual.values()) > least


def without_unseen(markup: str) -> str:
    """Return markup with spaces in place of comments, scripts and styles."""
    return _UNSEEN.sub(lambda unseen: " " * len(unseen[0]), markup)


def placed_faults(visible: str, url: str) -> Iterator[tuple[str, int]]:
    """Yield name and place of each fault of links, controls, frames, images, headings and ids."""
    for anchor in _ANCHOR.finditer(visible):
        at, opening, inside = anchor.start(), anchor["attributes"], anchor["inside"]
        text = _TAGS.sub(" ", inside) if "<" in inside else inside
        text = " ".join(unescaped(text).split())
        is_link = anchor["tag"].lower() == "a"
        written = href(opening)
        target = unescaped(written or "").strip()
        is_closed = visible.startswith("</", anchor.end())  # not by the start of another one
        is_empty = is_closed and not text and (written is not None or not is_link)
        if is_empty and not _NAMED.search(opening) and not _NAMED.search(inside):
            yield "nameless", at
        if is_link and written is None and "onclick" in opening.lower():
            yield "script_links", at
        elif is_link and (fault := _fault_of_target(target, url)):
            yield fault, at
        is_vague = is_link and target and text.lower().strip(" .…>»→") in _VAGUE
        if is_vague and not _NAMED.search(opening):
            yield "vague_links", at
    yield from _faults_of_tags(visible)


def _fault_of_target(target: str, url: str) -> str:
    """Return the fault of the address of a link on the page at `url`; "" if it has none."""
    scheme = target[:11].lower()
    if scheme.startswith("javascript:"):
        return "script_links"
    if scheme.startswith(("mailto:", "tel:")):
        pattern = _MAIL if scheme[0] == "m" else _PHONE
        is_usable = pattern.fullmatch(unquote(target)) and target[-1] != ":"
        return "" if is_usable else "bad_contacts"
    if target[:1] not in "/#?." and _BAD_LINK.match(target):
        return "bad_links"
    absolute = canonical(target, url) if _CAMPAIGN.search(target) else None
    is_own = absolute is not None and host(absolute) == host(url)
    return "campaign_links" if is_own else ""


def _faults_of_tags(visible: str) -> Iterator[tuple[str, int]]:
    labels = list(_LABEL.finditer(visible))
    labelled = {attributes(label[1]).get("for") for label in labels}
    starts = [label.start() for label in labels]
    for tag in _TAG.finditer(visible):
        name, written = tag[1].lower(), tag[2].lower()
        if name == "img":
            fault, is_there = "unsized", "width" not in written and "height" not in written
        elif name == "iframe":
            is_told = _HIDDEN_FRAME.search(written) or _NAMED.search(written)
            fault, is_there = "untitled_frames", not is_told
        else:
            before = bisect(starts, tag.start())
            is_within = before > 0 and tag.start() < labels[before - 1].end()
            values = attributes(tag[2])
            is_named = _NAMED.search(tag[2]) or values.get("id", "") in labelled
            is_control = values.get("type", "text").strip().lower() not in _UNTYPED
            fault, is_there = "unlabelled", is_control and not is_within and not is_named
        if is_there:
            yield fault, tag.start()
    level = 0
    for heading in _HEADING.finditer(visible):
        if int(heading[1]) > level + 1 > 1:
            yield "skipped_headings", heading.start()
        level = int(heading[1])
    ids = Counter[str]()
    for element in _ID.finditer(visible):
        name = next(filter(None, element.groups()), "")
        ids[name] += 1
        if name and ids[name] == 2:  # noqa: PLR2004  # further ones are the same fault
            yield "repeated_ids", element.start()
