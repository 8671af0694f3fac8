"""Tools of agents. They see names, docstrings and parameters of the tools.

Laws: a tool reads the store as of one moment, while a crawl may go on. All tools run in one thread,
one after the other, so they share the columns of all pages, which take a second to load for a
million pages.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from minicrawl.control import ControlRequest, Verb, ask
from minicrawl.dashboard.views import pages_named
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.json_values import to_json
from minicrawl.mcp.answers import Answer, answer, answer_with_rows, text_of_page
from minicrawl.mcp.held_store import HeldAudit, HeldSnapshot, Host
from minicrawl.report.archived import page_versions
from minicrawl.report.links.backlinks import Linked, backlinks, links
from minicrawl.report.progress import crawl_status
from minicrawl.report.selected_pages import PageSelection, top
from minicrawl.report.states import explanation
from minicrawl.store.derived.ranks import OPIC
from minicrawl.store.reader import search_folder
from minicrawl.store.user_queries import query_views
from minicrawl.wording import iso

Url = Annotated[str, Field(description="URL of a page in the store.", max_length=10_000)]
_MOST_ROWS = 200
Count = Annotated[int, Field(description="Maximum number of rows.", ge=1, le=_MOST_ROWS)]
Form = Literal["markdown", "main", "text", "html"]
_PATIENCE_S = 0.5


class StoreTools:
    """Tools of one store."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._held = HeldSnapshot(store)
        self._audit: HeldAudit | None = None
        self._search: Callable[[str, int], Answer] | None = None

    def all(self) -> list[Callable[..., Answer]]:
        """Return the tools, in the order in which agents see them."""
        return [
            *(self.status, self.search, self.page, self.top, self.explain),
            *(self.links, self.backlinks, self.audit, self.changes, self.sql),
        ]

    def close(self) -> None:
        """Leave the store until the next question."""
        self._held.close()

    def status(self) -> Answer:
        """Show the progress of the crawl: pages, failures, pace, and whether it runs now."""
        state: str | None = None
        with suppress(MinicrawlError):
            state = ask(self._store, ControlRequest(verb=Verb.SHOW), _PATIENCE_S)["state"]
        facts = to_json(crawl_status.status(self._store))
        del facts["command"]  # its options can name files and accounts of the user
        return answer({"crawl": state, **facts})

    def search(
        self,
        query: Annotated[
            str,
            Field(
                description='Words; also "a phrase", -without, site:NAME, title:WORD, url:WORD.',
                max_length=2_000,
            ),
        ],
        count: Count = 10,
    ) -> Answer:
        """Find pages by words in their text. Without a search index, only in their URLs and titles.

        `searched` says where it looked.
        """
        if self._search is None:
            self._search = _full_text(self._store)
        hits = self._search(query, count) if self._search else None
        if hits:
            return hits
        rows = pages_named(self._held.get(), query, count)
        return answer_with_rows(rows, {"searched": "URLs and titles"})

    def page(
        self,
        url: Url,
        form: Annotated[
            Form, Field(description="`markdown` and `main`: without navigation; `text`: all of it.")
        ] = "markdown",
        start: Annotated[int, Field(description="First character to return.", ge=0)] = 0,
        count: Annotated[int, Field(description="Maximum characters.", ge=1, le=40_000)] = 20_000,
    ) -> Answer:
        """Read a page as it was fetched last, from a store that keeps pages."""
        view = self._held.get()
        version = page_versions.version(view, url)
        if form in ("markdown", "main"):
            text = self._held.texts().of(version, form)
            if text is None:
                raise UsageError(f"there is no {form} of {url}: ask for form `text`")
        else:
            text = version.text if form == "text" else version.markup
        response = version.answer
        head = answer({"url": response.url, "status": response.status, "fetched": iso(response.at)})
        head["untrusted"] |= text_of_page(text, start, count)
        return head

    def top(
        self,
        count: Count = 20,
        by: Annotated[
            str, Field(description="Rank; `opic` is the importance.", max_length=100)
        ] = OPIC,
        host: Host = None,
    ) -> Answer:
        """List the most important pages, fetched or not."""
        selection = PageSelection(count=count, by=by, host=host, only_pages=True)
        return answer_with_rows(top(self._held.get(), selection))

    def explain(self, url: Url) -> Answer:
        """Explain the rank of a page, where its importance comes from, and why it was read or not.

        The first call on a large store takes time, for an index of all links.
        """
        view = self._held.with_index_of_links(url)
        return answer({"page": to_json(explanation.explain(view, url))})

    def links(self, url: Url, count: Count = 50) -> Answer:
        """List the pages that a page links to, most important first."""
        return _linked(links(self._held.get(), url, count))

    def backlinks(self, url: Url, count: Count = 50) -> Answer:
        """List the pages that link to a page, most important first.

        The first call on a large store takes time, for an index of all links.
        """
        return _linked(backlinks(self._held.get(), url, count))

    def audit(
        self,
        issue: Annotated[
            str | None,
            Field(description="List the pages of this issue; else count all issues."),
        ] = None,
        host: Host = None,
        count: Count = 50,
    ) -> Answer:
        """List the issues of a site for its owner, such as broken links and missing titles.

        The first call on a large store takes minutes, for facts about all kept pages; the next ones
        are quick, also for other hosts.
        """
        from minicrawl.audit.findings import chosen_checks

        chosen = {check.name for check in chosen_checks(() if issue is None else (issue,))}
        held = self._audit
        if held is None or held.renewal.is_due:
            self._held.close()  # an audit loads its own columns: not both at once
            held = self._audit = HeldAudit.of(self._store)
        rows = held.rows(self._held.get(), issue, host, count)
        skipped = [{"issue": name, "why": why} for name, why in held.skipped if name in chosen]
        return answer_with_rows(rows, {"pages_read": held.read, "skipped": skipped})

    def changes(
        self,
        since: Annotated[
            str | None,
            Field(description="Time in UTC (2026-11-22T10:00). Without it: since the last crawl."),
        ] = None,
        host: Host = None,
        count: Count = 50,
    ) -> Answer:
        """List new, changed and removed pages, most important first."""
        moment = None if since is None else page_versions.moment(since)
        rows, number = self._held.changes(moment).rows(host, count)
        return answer_with_rows(rows, {"changes": number})

    def sql(
        self,
        query: Annotated[str, Field(description="One SELECT of SQLite.", max_length=20_000)],
        count: Count = 200,
    ) -> Answer:
        """Query the store in SQL, for at most 5 seconds. Times are text in UTC.

        pages(id, url, state, depth, inlinks, cash, history, title, status, first_fetched,
        last_fetched); links(source_id, target_id, source, target, target_state), slow without a
        condition on source_id; redirects(page_id, target_id, kind, url, target, target_state);
        requests(id, page_id, url, at, outcome, status, wire_bytes, elapsed_s, detail,
        first_byte_s); states(id, name).
        """
        table = query_views(self._store, query)
        reply = answer_with_rows(table.rows[:count], {"columns": table.columns})
        reply["untrusted"]["is_cut"] |= table.is_cut or len(table.rows) > count
        return reply


def _linked(linked: Linked) -> Answer:
    about = {"url": linked.url, "stands_for": linked.stands_for, "pages": linked.count}
    return answer_with_rows(linked.pages, about)


def _full_text(store: Path) -> Callable[[str, int], Answer] | None:
    """Return a function that searches the full-text index, or None if it cannot be searched."""
    try:
        from minicrawl.search.index import check_installed
        from minicrawl.search.indexing.index_folder import has_index, lack_of

        check_installed()
    except (ModuleNotFoundError, MinicrawlError):
        return None
    folder = search_folder(store)
    if not has_index(folder):
        return None
    from minicrawl.search.searching import Finder, SearchRequest

    held = [Finder(folder)]

    def find(text: str, count: int) -> Answer:
        if held[0].is_old(folder):
            held[0] = Finder(folder)
        answered = held[0].answer(text, SearchRequest(count=count))
        rows = [result.document(rank) for rank, result in enumerate(answered.results, 1)]
        for row in rows:
            del row["marks"], row["score"]
        about = {"searched_for": answered.instead} if answered.instead else {}
        about |= {"incomplete": str(lack)} if (lack := lack_of(store)) else {}
        return answer_with_rows(rows, {"searched": "text of pages", **about})

    return find
