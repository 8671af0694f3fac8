"""Questions as people type them, with the pages that answer them, for five manuals.

Laws: all questions were written from memory of the manuals, before anyone saw a result, and no
weight is fitted to them. To tune the ranking, look only at the misses of `QUESTIONS`, and report
`HELD_BACK`, too. The store has a sixth manual (boost) as a distraction.

`python -m tests.bench.search_questions --store FILE` asks all questions in the store that
`python -m tests.bench.search --store FILE` has made. A page is an answer if it would satisfy the
person who asks; a question may have several. Then the command asks all questions again with two
letters of the longest word swapped, a common typing error.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.report.snapshot import snapshot
from minicrawl.search.indexing import bring_up_to_date
from minicrawl.search.searching import Finder, SearchRequest, keep_importance
from minicrawl.store.reader import search_folder
from tests.bench.notes import circumstances, head, row

TOP = 3
_SHOWN = 10


class Question(NamedTuple):
    """Question, its manual, and the pages of the manual that answer it."""

    words: str
    manual: str
    pages: tuple[str, ...]


_JAVA = "java.base/java/"
# ruff: noqa: E501
QUESTIONS = (
    Question("python read csv file", "python", ("library/csv.html",)),
    Question("format date as string python", "python", ("library/datetime.html", "library/time.html")),
    Question("sort list of dictionaries by key", "python", ("howto/sorting.html",)),
    Question("run subprocess and capture output", "python", ("library/subprocess.html",)),
    Question("python virtual environments", "python", ("library/venv.html", "tutorial/venv.html")),
    Question("python parse command line arguments", "python", ("library/argparse.html", "howto/argparse.html")),
    Question("python named groups in regular expressions", "python", ("library/re.html", "howto/regex.html")),
    Question("create index without locking table", "postgresql", ("sql-createindex.html",)),
    Question("postgres backup single database", "postgresql", ("app-pgdump.html", "backup-dump.html")),
    Question("postgres max connections", "postgresql", ("runtime-config-connection.html",)),
    Question("grant select on all tables in schema", "postgresql", ("sql-grant.html",)),
    Question("postgres insert on conflict update", "postgresql", ("sql-insert.html",)),
    Question("postgres json operators", "postgresql", ("functions-json.html",)),
    Question("point in time recovery", "postgresql", ("continuous-archiving.html",)),
    Question("autovacuum settings", "postgresql", ("runtime-config-autovacuum.html", "routine-vacuuming.html")),
    Question("sqlite wal mode", "sqlite", ("wal.html",)),
    Question("sqlite full text search", "sqlite", ("fts5.html", "fts3.html")),
    Question("sqlite enable foreign keys", "sqlite", ("foreignkeys.html",)),
    Question("sqlite maximum database size", "sqlite", ("limits.html",)),
    Question("sqlite backup of a running database", "sqlite", ("backup.html",)),
    Question("when to use sqlite", "sqlite", ("whentouse.html",)),
    Question("undo last commit", "git", ("git-reset.html", "git-revert.html")),
    Question("git stash changes", "git", ("git-stash.html",)),
    Question("git squash commits interactive rebase", "git", ("git-rebase.html",)),
    Question("find the commit that introduced a bug", "git", ("git-bisect.html", "git-bisect-lk2009.html")),
    Question("git ignore files", "git", ("gitignore.html",)),
    Question("remove file from git but keep it on disk", "git", ("git-rm.html",)),
    Question("who changed this line git", "git", ("git-blame.html", "git-annotate.html")),
    Question("java hash map", "java", (f"{_JAVA}util/HashMap.html",)),
    Question("java read file line by line", "java", (f"{_JAVA}io/BufferedReader.html", f"{_JAVA}nio/file/Files.html", f"{_JAVA}io/LineNumberReader.html")),
    Question("java thread pool", "java", (f"{_JAVA}util/concurrent/ThreadPoolExecutor.html", f"{_JAVA}util/concurrent/Executors.html", f"{_JAVA}util/concurrent/ExecutorService.html")),
    Question("java http client request", "java", ("java.net.http/java/net/http/HttpClient.html", "java.net.http/java/net/http/HttpRequest.html")),
)  # fmt: skip
HELD_BACK = (
    Question("python read json file", "python", ("library/json.html", "tutorial/inputoutput.html")),
    Question("python unit test with mock object", "python", ("library/unittest.mock.html", "library/unittest.mock-examples.html")),
    Question("python logging to a file", "python", ("howto/logging.html", "howto/logging-cookbook.html")),
    Question("python list files in a directory", "python", ("library/os.html", "library/pathlib.html", "library/glob.html")),
    Question("fetch url with python", "python", ("library/urllib.request.html", "howto/urllib2.html")),
    Question("python run coroutines concurrently", "python", ("library/asyncio-task.html",)),
    Question("python dictionary with default value", "python", ("library/collections.html", "library/stdtypes.html")),
    Question("postgres create user with password", "postgresql", ("sql-createrole.html", "sql-createuser.html", "app-createuser.html")),
    Question("add column to existing table", "postgresql", ("sql-altertable.html", "ddl-alter.html")),
    Question("why is my query slow explain", "postgresql", ("using-explain.html", "sql-explain.html")),
    Question("postgres concatenate strings", "postgresql", ("functions-string.html",)),
    Question("postgres window functions", "postgresql", ("tutorial-window.html", "functions-window.html")),
    Question("partition large table by date range", "postgresql", ("ddl-partitioning.html",)),
    Question("cancel a running query postgres", "postgresql", ("functions-admin.html",)),
    Question("set up streaming replication standby", "postgresql", ("warm-standby.html",)),
    Question("sqlite date functions", "sqlite", ("lang_datefunc.html",)),
    Question("sqlite auto increment primary key", "sqlite", ("autoinc.html",)),
    Question("sqlite drop column from table", "sqlite", ("lang_altertable.html",)),
    Question("sqlite query json", "sqlite", ("json1.html",)),
    Question("sqlite database in memory", "sqlite", ("inmemorydb.html",)),
    Question("sqlite boolean type", "sqlite", ("datatype3.html",)),
    Question("sqlite import csv file", "sqlite", ("cli.html",)),
    Question("delete remote branch git", "git", ("git-push.html",)),
    Question("git resolve merge conflicts", "git", ("git-merge.html", "git-mergetool.html")),
    Question("change message of last commit", "git", ("git-commit.html",)),
    Question("git copy commit to another branch", "git", ("git-cherry-pick.html",)),
    Question("git clone without history", "git", ("git-clone.html",)),
    Question("git update submodules", "git", ("git-submodule.html",)),
    Question("git show changed files between two commits", "git", ("git-diff.html",)),
    Question("java convert string to int", "java", (f"{_JAVA}lang/Integer.html",)),
    Question("java sort an array", "java", (f"{_JAVA}util/Arrays.html",)),
    Question("java parse date", "java", (f"{_JAVA}time/format/DateTimeFormatter.html", f"{_JAVA}time/LocalDate.html", f"{_JAVA}text/SimpleDateFormat.html", f"{_JAVA}text/DateFormat.html")),
)  # fmt: skip


def misspelt(words: str) -> str:
    """Return the words with two letters in the middle of the longest one swapped."""
    longest = max(words.split(), key=len)
    middle = len(longest) // 2
    wrong = longest[: middle - 1] + longest[middle] + longest[middle - 1] + longest[middle + 1 :]
    return words.replace(longest, wrong)


def places(
    finder: Finder,
    origins: dict[str, str],
    questions: Sequence[Question],
    change: Callable[[str], str] = str,
) -> list[int]:
    """Return the place of the first right page for each question, or 0."""
    found = []
    for one in questions:
        wanted = {f"{origins[one.manual]}/{page}" for page in one.pages}
        answered = finder.answer(change(one.words), SearchRequest(count=_SHOWN))
        urls = [result.entry.url for result in answered.results]
        found.append(next((nth for nth, url in enumerate(urls, 1) if url in wanted), 0))
    return found


def _counted(found: list[int]) -> tuple[str, str]:
    return str(sum(one == 1 for one in found)), str(sum(0 < one <= TOP for one in found))


@click.command()
@click.option("--store", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--misses", is_flag=True, help="Show questions whose first result is wrong.")
def main(store: Path, misses: bool) -> None:
    bring_up_to_date(store)
    with snapshot(store) as seen:
        keep_importance(search_folder(store), seen)
    finder = Finder(search_folder(store))
    lines = store.with_suffix(".origins").read_text().splitlines()
    origins = {name: origin.rstrip("/") for name, origin in map(str.split, lines)}
    click.echo(f"{circumstances()} {len(finder):,} pages.\n")
    click.echo("\n".join(head("questions", "number", "first", f"in the first {TOP}")))
    for name, asked in (("first set", QUESTIONS), ("held back", HELD_BACK)):
        right = places(finder, origins, asked)
        wrong = places(finder, origins, asked, misspelt)
        click.echo(row(f"{name}, as written", str(len(asked)), *_counted(right)))
        click.echo(row(f"{name}, two letters exchanged", str(len(asked)), *_counted(wrong)))
        for one, place, place_of_wrong in zip(asked, right, wrong, strict=True) if misses else ():
            if (place, place_of_wrong) != (1, 1):
                click.echo(f"{place:>3} {place_of_wrong:>3}  {one.words} / {misspelt(one.words)}")


if __name__ == "__main__":
    main()
