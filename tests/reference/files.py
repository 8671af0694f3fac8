"""The pages of what a command leaves behind: its exit code, and the files of a store."""

import re

from minicrawl import cli
from minicrawl.cli.crawl.notices import NOTICES
from minicrawl.control import SUFFIX as CONTROL
from minicrawl.crawl.start.cookies import COOKIES_SUFFIX as COOKIES
from minicrawl.store.derived.file import DAMAGED, SUFFIX
from minicrawl.store.reader import ARCHIVE, DASHBOARD, EARLIER, LOCK, SEARCH
from tests.reference.markdown import page, prose

_EXIT_CODE = re.compile(r"^ {4}(\d+) +(.+)$", re.MULTILINE)


def exit_codes() -> dict[int, str]:
    """Return the exit codes that the docstring of `minicrawl.cli` lists, with their meanings."""
    return {int(code): text for code, text in _EXIT_CODE.findall(cli.__doc__ or "")}


def exit_codes_page() -> str:
    """Describe the exit codes."""
    return page(
        "Exit codes", "\n".join(f"- `{code}`: {prose(text)}" for code, text in exit_codes().items())
    )


def files_page() -> str:
    """Describe the files of a store."""
    store = "crawl.db"
    files = {
        store: "the store, an SQLite database",
        f"{store}-wal": "commits that are not in the database file yet; SQLite reads it, so it "
        "belongs to the store: never copy or delete one without the other",
        f"{store}-shm": "an index of `-wal`, while a program has the store open",
        f"{store}{LOCK}": "the lock of the process that writes the store; after a kill it "
        "stays, without harm",
        f"{store}{SUFFIX}": "ranks, the converged importance among them, the index of in-links and "
        "samples of the graph, derived from the store; may be deleted at any time. It also has the "
        "pings of IndexNow, without which pages are read later",
        f"{store}{DAMAGED}": "a file of ranks that could not be opened, set aside by the next "
        "crawl; may be deleted at any time",
        f"{store}{SEARCH}": "the search index: a folder that is derived from the store and its "
        "archive; may be deleted at any time",
        f"{store}{SEARCH}.toml": "synonyms and pins of the search, which you write; keep it",
        f"{store}{ARCHIVE}": "the archive: a folder with the pages that were kept. It can be read "
        "without the store; its file `index.db` is derived and may be deleted at any time",
        f"{store}{EARLIER}": "the captures of the earlier archive that `--dedupe-with` named, to "
        "which new web archives refer; without it they are whole",
        f"{store}{NOTICES}": "what the hook of `--notify` has not taken yet; the next run posts it",
        f"{store}{COOKIES}": "the cookies of the crawl (`--cookies`), readable by its owner only; "
        "without it sites begin new sessions",
        f"{store}{CONTROL}": "the socket that controls a running crawl; a kill leaves it, and the "
        "next crawl replaces it",
        f"{store}{DASHBOARD}": "the address of the store's dashboard, its token, and its key for "
        "IndexNow",
        f"{store}.2026-11-21T09-30-00": "the old store, renamed by `minicrawl crawl --fresh` at "
        "this time",
        f"{store}.part": "a copy that `minicrawl refine --to` has not finished",
    }
    return page(
        "Files",
        f"The option `--store` names the store. Beside a store called `{store}` there may be:",
        "\n".join(f"- `{name}`: {what}." for name, what in files.items()),
    )
