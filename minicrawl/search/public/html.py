"""HTML of the search page for everybody. No text of a page becomes markup.

Links are relative, so that a proxy may serve the page below any path.
"""

from collections.abc import Iterable, Iterator, Mapping
from email.utils import formatdate
from html import escape
from urllib.parse import urlencode

from minicrawl.search.page_look import PageLook
from minicrawl.search.searching import Answered, Finder, Result, SearchRequest
from minicrawl.wording import counted, iso, visible

_PER_PAGE, _MOST_PER_PAGE, _DEEPEST = 10, 50, 1_000
LONGEST_PUBLIC_QUERY = 500
_VALUES_SHOWN = 8


class PublicQuery:
    """Query of a request, and which page of its results."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.text = given.get("q", "")[:LONGEST_PUBLIC_QUERY].strip()
        self.each = _number(given.get("n", ""), _PER_PAGE, _MOST_PER_PAGE)
        self.page = _number(given.get("page", ""), 1, _DEEPEST // self.each)

    def answer(self, finder: Finder) -> Answered:
        """Return the results, and how many there are."""
        offset = (self.page - 1) * self.each
        return finder.answer(self.text, SearchRequest(count=self.each, offset=offset, counts=True))

    def pages(self, answer: Answered) -> int:
        """Return the number of pages of results that can be asked for."""
        total = answer.counts.pages if answer.counts else 0
        return min(-(-total // self.each), _DEEPEST // self.each)

    def document(self, answer: Answered) -> dict[str, object]:
        """Return the answer as a JSON document, see docs/how-to/publish-a-search.md."""
        first = (self.page - 1) * self.each + 1
        results = [row.document(rank) for rank, row in enumerate(answer.results, first)]
        for row in results:
            del row["score"]
        counts = answer.counts
        facets = {
            name: [{"value": value, "pages": pages} for value, pages in values]
            for name, values in (counts.facets if counts else {}).items()
        }
        return {
            "query": self.text,
            "answered_instead": answer.instead or None,
            "did_you_mean": answer.suggestion or None,
            "total": counts.pages if counts else 0,
            "page": self.page,
            "pages": self.pages(answer),
            "per_page": self.each,
            "facets": facets,
            "results": results,
        }

    def link(self, text: str, page: int = 1) -> str:
        """Return a link to another query or page of results."""
        arguments = {"q": text} | ({"page": page} if page > 1 else {})
        arguments |= {"n": self.each} if self.each != _PER_PAGE else {}
        return escape(f"./?{urlencode(arguments)}")


def _number(text: str, usual: int, most: int) -> int:
    return max(1, min(int(text[:9]), most)) if text.isascii() and text.isdecimal() else usual


OPENSEARCH = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{short}</ShortName>
<Description>{text}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{base}?q={{searchTerms}}&amp;page={{startPage?}}"/>
<Url type="application/json"
 template="{base}search.json?q={{searchTerms}}&amp;page={{startPage?}}"/>
<Url type="application/x-suggestions+json" template="{base}suggest?q={{searchTerms}}"/>
</OpenSearchDescription>
"""
_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
<link rel="search" type="application/opensearchdescription+xml" href="opensearch.xml"
 title="{name}">
{feed}</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header><h1><a href="./">{logo}</a></h1>
<form role="search" action="./" method="get">
<label for="q">Words to find</label>
<div class="row"><input id="q" name="q" type="search" value="{text}" maxlength="{longest}"
 autocomplete="off" spellcheck="false"><button>Search</button></div>
</form></header>
<main id="main" tabindex="-1">
{content}
</main>
</body>
</html>
"""
_FEED_LINK = """<link rel="alternate" type="application/rss+xml" href="{query}"
 title="New pages that match">
"""
_FACET_NAMES = {"host": "Site", "type": "Type", "language": "Language", "year": "Year"}
_FILTERS = {"host": "site", "type": "type", "language": "lang", "year": "year"}


FEED = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0"><channel>
<title>{title}</title><link>{link}</link><description>New pages that match.</description>
{items}
</channel></rss>
"""


def feed_items(results: Iterable[Result]) -> Iterator[str]:
    for result in results:
        entry = result.entry
        yield (
            f"<item><title>{_safe(entry.title or entry.url)}</title><link>{_safe(entry.url)}</link>"
            f"<guid>{_safe(entry.url)}</guid><pubDate>{formatdate(entry.at)}</pubDate>"
            f"<description>{_safe(result.snippet.text)}</description></item>"
        )


def html_page(look: PageLook, query: PublicQuery, content: str) -> str:
    title = f"{query.text} - {look.title}" if query.text else look.title
    return _TEMPLATE.format(
        title=_safe(title),
        name=_safe(look.title),
        logo=_safe(look.logo),
        feed=_FEED_LINK.format(query=_feed_of(query)) if query.text else "",
        text=escape(query.text),
        longest=LONGEST_PUBLIC_QUERY,
        content=content,
    )


def _feed_of(query: PublicQuery) -> str:
    return escape(f"feed.xml?{urlencode({'q': query.text})}")


def _safe(text: str) -> str:
    """Return text of a page or a user as HTML, with control and bidirectional marks escaped."""
    return escape(visible(text))


def about_html(pages: int, text: str) -> str:
    usual = (
        f"{counted(pages, 'page')}. Some results may lack a few words. Quotes find an exact "
        "phrase, and a minus leaves out a word."
    )
    return notice(text or usual)


def notice(text: str) -> str:
    return f'<p role="status">{_safe(text)}</p>'


def results_html(query: PublicQuery, answer: Answered) -> Iterator[str]:
    total = answer.counts.pages if answer.counts else 0
    yield notice(
        f"{counted(total, 'page')} found" if answer.results else "No page has these words."
    )
    if answer.instead:
        yield f"<p>No page has the words as typed. Shown is <b>{_safe(answer.instead)}</b>.</p>"
    if answer.suggestion:
        link = query.link(answer.suggestion)
        yield f'<p>Did you mean <a href="{link}">{_safe(answer.suggestion)}</a>?</p>'
    yield '<div class="columns">'
    first = (query.page - 1) * query.each + 1
    yield f'<ol id="results" start="{first}" aria-label="Results">'
    yield from map(_result, answer.results)
    yield "</ol>"
    yield from _facets(query, answer)
    yield "</div>"
    yield from _other_pages(query, answer)
    yield f'<p class="facts"><a href="{_feed_of(query)}">Feed of new pages that match</a></p>'


def _result(result: Result) -> str:
    entry = result.entry
    title = _safe(entry.title or entry.url)
    # Only links to the web: a crawl of recorded files may know other schemes.
    is_link = entry.url.startswith(("http://", "https://"))
    head = f'<a href="{escape(entry.url)}">{title}</a>' if is_link else title
    facts = [entry.language, "" if entry.type == "html" else entry.type]
    facts += [iso(entry.at)[:10]] if entry.at is not None else []
    facts += [f"and {counted(result.folded, 'page')} like it"] if result.folded else []
    line = " · ".join(_safe(fact) for fact in facts if fact)
    text = result.snippet.marked("<mark>", "</mark>", _safe)
    return (
        f"<li><h2>{head}</h2>"
        f'<p class="place">{_safe(entry.url)}</p><p dir="auto">{text}</p>'
        f'<p class="facts">{line}</p></li>'
    )


def _facets(query: PublicQuery, answer: Answered) -> Iterator[str]:
    """Yield links that narrow the query, for facets with several values."""
    text = answer.instead or query.text
    facets = answer.counts.facets if answer.counts else {}
    several = {name: values for name, values in facets.items() if len(values) > 1}
    if not several:
        return
    yield '<nav aria-label="Narrow the results">'
    for name, values in several.items():
        yield f"<h2>{_FACET_NAMES[name]}</h2><ul>"
        for value, pages in values[:_VALUES_SHOWN]:
            link = query.link(f"{text} {_FILTERS[name]}:{value}")
            yield f'<li><a href="{link}">{_safe(value)}</a> <span>{pages:,}</span></li>'
        yield "</ul>"
    yield "</nav>"


def _other_pages(query: PublicQuery, answer: Answered) -> Iterator[str]:
    text, pages = answer.instead or query.text, query.pages(answer)
    links = [("Previous", query.page - 1)] if query.page > 1 else []
    links += [("Next", query.page + 1)] if query.page < pages and answer.results else []
    if links:
        yield '<nav aria-label="Pages of results" class="pages">'
        for label, page in links:
            yield f'<a href="{query.link(text, page)}">{label} page</a> '
        yield f"<span>Page {query.page} of {pages:,}</span></nav>"
