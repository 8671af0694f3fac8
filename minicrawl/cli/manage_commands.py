"""Commands that manage crawls and data.

`control`, `config` and `about` concern the settings of a crawl; `import`, `move`, `forget` and
`archive` a whole store or archive.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from minicrawl.cli import PROGRAM
from minicrawl.cli.companions import cluster_door
from minicrawl.cli.options import (
    CommandWithSettings,
    SettingOption,
    given_options,
    loaded_options,
    naming,
    settings_options,
)
from minicrawl.cli.output import show_facts, show_json, warn_of_exposure
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import (
    STEER,
    json_option,
    own_store_option,
    store_option_for,
    store_with_pages_option,
)
from minicrawl.config import Loaded, Politeness, Settings
from minicrawl.config.settings import told_ignored
from minicrawl.config.values.kinds import key_file
from minicrawl.config.writing import as_document, as_toml
from minicrawl.control import CHANGEABLE, MOST_URLS, ControlRequest, Reply, Verb, ask
from minicrawl.errors import UsageError
from minicrawl.wording import counted, visible

if TYPE_CHECKING:
    from minicrawl.archive.pruning import Pruning
    from minicrawl.archive.reader import ArchiveReader
    from minicrawl.crawl.imports.graph_import import Imported
    from minicrawl.crawl.imports.warc_import import WarcImport
    from minicrawl.fetch.access.signing import SigningKey
    from minicrawl.report.progress.crawl_status import Status

# ================================================================ control

_ACTIONS = ("show", "pause", "resume", "stop", *CHANGEABLE, "add")


@click.command(cls=CommandWithSettings)
@click.argument("action", type=click.Choice(_ACTIONS), metavar="ACTION")
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@json_option
@settings_options("cluster", "insecure")
@store_option_for(STEER)
@click.pass_context
def control(  # click passes arguments by name
    context: click.Context,
    action: str,
    values: tuple[str, ...],
    store: Path,
    settings: Settings,
    as_json: bool,
) -> None:
    """Pause, stop or adjust a running crawl.

    \b
    show            show the state of the crawl
    pause           stop sending requests
    resume          send requests again
    stop            finish the requests in flight, then end
    workers N       run N worker processes
    concurrency N   allow N requests in flight
    delay T         wait T between two requests to a host; Crawl-delay still applies
    max-rate RATE   limit requests or bytes per second; none for no limit
    hours HOURS     send requests only in these hours; none for all day
    pages N         stop after N pages; none for no limit
    small-edge S    divide share S of a page's cash among all pages equally
    add URL...      also crawl these URLs

    Only the user who started the crawl can control it. The crawl logs each change.

    With --cluster, show, pause, resume, stop and pages control the crawl of all nodes.
    """
    request = _request(action, values)
    is_store = context.get_parameter_source("store") is ParameterSource.COMMANDLINE
    if settings.cluster.url is not None and not is_store:
        cluster_door().steer(settings, action, request, as_json=as_json)
        return
    found = ask(store, request)
    if as_json:
        show_json(found)
    else:
        show_facts(_reply_facts(found))


def _request(action: str, values: tuple[str, ...]) -> ControlRequest:
    if action in CHANGEABLE:
        if len(values) != 1:
            raise UsageError(f"control {action} needs one value")
        return ControlRequest(verb=Verb.SET, values={action: values[0]})
    if action == Verb.ADD:
        if not values:
            raise UsageError(f"control add takes from 1 to {MOST_URLS:,} URLs")
        return ControlRequest(verb=Verb.ADD, urls=values)
    if values:
        raise UsageError(f"control {action} takes no value: {values[0]!r}")
    return ControlRequest(verb=Verb(action))


def _reply_facts(found: Reply) -> list[tuple[str, str]]:
    settings: dict[str, Any] = found["settings"]
    delay = settings["delay"]
    return [
        ("crawl", f"{found['state']}, process {found['pid']}"),
        ("requests", f"{found['in_flight']:,} in flight"),
        ("workers", f"{found['workers']:,}"),
        ("concurrency", f"{settings['concurrency']:,}"),
        ("delay", delay if isinstance(delay, str) else f"{delay:g} s"),
        ("max-rate", settings["max-rate"] or "no limit"),
        ("hours", settings["hours"] or "all day"),
        ("pages", "no limit" if settings["pages"] is None else f"{settings['pages']:,}"),
        ("small-edge", f"{settings['small-edge']:g}"),
    ]


# ================================================================ config


@click.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options()
def config(loaded: Loaded, as_json: bool) -> None:
    """Show all settings and where they come from.

    Flags override MINICRAWL_* variables, which override minicrawl.toml, which overrides the
    settings in the store, which override the defaults. The output is a valid minicrawl.toml. If
    the store exists, the settings are those with which its crawl would resume.
    """
    from minicrawl.crawl.start.settings import with_stored_settings

    in_file = loaded.ignored
    loaded = with_stored_settings(loaded)
    in_store = [place for name, place in loaded.ignored.items() if in_file.get(name) != place]
    if line := told_ignored(in_store):
        click.echo(f"minicrawl: {visible(line)}", err=True)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)


# ================================================================ about
#
# `minicrawl about`: the page that the owner of a server should find at the crawler's contact.


@click.command(cls=CommandWithSettings)
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make a key for --sign-requests in this new file, readable by you only.",
)
@click.option(
    "--directory",
    "shows_directory",
    is_flag=True,
    help="Print the key directory, to publish at its URL.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options("agent", "contact", "robots", "delay", "user-agent", "sign-requests")
def about(settings: Settings, new_key: Path | None, shows_directory: bool, as_json: bool) -> None:
    """Describe the crawler to the owners of servers: name, contact, how to block it, key.

    The output is text for the page at --contact. With --sign-requests it names the key directory,
    which --directory prints: serve it there as application/http-message-signatures-directory+json.
    """
    from minicrawl.fetch.access.headers import user_agent

    if shows_directory and as_json:
        raise click.UsageError("--directory is JSON already: leave out --json")
    key, key_url = _key(settings, new_key)
    if shows_directory:
        if key is None:
            raise click.UsageError("--directory needs --sign-requests or --new-key")
        show_json({"keys": [key.jwk]})
        return
    facts = {
        "agent": settings.politeness.agent,
        "user_agent": user_agent(settings.politeness, settings.access).decode(),
        "contact": settings.politeness.contact,
        "obeys_robots": settings.politeness.robots,
        "delay": settings.politeness.delay_s,
        "key_id": None if key is None else key.id,
        "key_directory": key_url,
    }
    if as_json:
        show_json(facts)
    else:
        only_asked = key_file(settings.access.sign_requests or "")[1]
        click.echo(_page(facts, settings.politeness, only_asked=only_asked))


def _key(settings: Settings, new_key: Path | None) -> tuple[SigningKey | None, str | None]:
    """Return the key, which may be a new one, and the URL of its directory."""
    from minicrawl.fetch.access.signing import SigningKey, key_directory

    given = settings.access.sign_requests
    if new_key is not None and given is not None:
        raise UsageError("--new-key and --sign-requests: give one of them")
    if new_key is not None:
        where = key_directory(settings.politeness.contact)  # refuses before the file is made
        return SigningKey.create(new_key), where
    if given is not None:
        file = key_file(given)[0]
        warn_of_exposure(file)
        return SigningKey.read(file), key_directory(settings.politeness.contact)
    return None, None


_PAGE = """\
# {agent}

This crawler sends

    User-Agent: {user_agent}

Its contact: {contact}

## Block it or slow it down

{blocking}

It waits at least {delay:g} s between two requests to a host, and longer if a
response says so by Retry-After.

## Verify it

{signing}"""
_BY_ROBOTS = """\
It obeys robots.txt, which it reads before the first page of a host and again
after a day. To block it:

    User-agent: {agent}
    Disallow: /

To have it wait 10 s between requests:

    User-agent: {agent}
    Crawl-delay: 10"""
_BY_CONTACT = "It does not obey robots.txt: write to its contact."
_SIGNED = """\
It signs {signed} (Web Bot Auth, RFC 9421). The key ID and directory:

    {key_id}
    {key_directory}"""
_ONLY_ASKED = "requests to servers that ask"
_UNSIGNED = "It does not sign its requests: others can use its name."


def _page(facts: Mapping[str, object], politeness: Politeness, *, only_asked: bool) -> str:
    auto = isinstance(politeness.delay_s, str)
    shown = {
        **facts,
        "contact": facts["contact"] or "none (--contact)",
        "delay": politeness.min_delay_s if auto else politeness.delay_s,
        "signed": _ONLY_ASKED if only_asked else "its requests",
    }
    blocking = _BY_ROBOTS if politeness.robots else _BY_CONTACT
    signing = _UNSIGNED if facts["key_id"] is None else _SIGNED
    return _PAGE.format(**shown, blocking=blocking.format(**shown), signing=signing.format(**shown))


# ================================================================ import

_OF_REQUESTS = ("warc", "check", "dedupe-with")
"""Settings that have no effect without requests."""


@click.command("import", cls=CommandWithSettings)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options("types", "store", without=_OF_REQUESTS)
def import_(files: tuple[Path, ...], loaded: Loaded, as_json: bool) -> None:
    """Create a store from WARC files or a graph file, without fetching anything.

    FILES are WARC files of any program: plain, .gz or .zst, or several in a .wacz. Their records
    are processed in order, like the responses of a crawl. All commands work on the store, and
    `minicrawl crawl` continues with the pages that were not recorded. Responses are kept beside the
    store, for `page` and `search`; with --requisites, so are the images, styles and other files
    that the pages need.

    Alternatively, FILES is one graph file, plain or .gz; `-` is stdin. Every page with links then
    counts as fetched. Nodes that are not URLs keep their names.
    """
    from minicrawl.fetch.warc.files import is_recorded

    links = [file for file in files if not is_recorded(file)]
    if not links:
        _import_warcs(files, loaded.settings, as_json=as_json)
    elif len(files) > 1:
        raise UsageError(f"{links[0]} is not a WARC file: import a graph file alone")
    else:
        _refuse_options_of_pages()
        _import_graph(links[0], loaded.settings.storing.store, as_json=as_json)


# ---------------------------------------------------------------- WARC files


def _import_warcs(files: Sequence[Path], settings: Settings, *, as_json: bool) -> None:
    from minicrawl.crawl.imports.warc_import import import_warcs
    from minicrawl.report.progress.crawl_status import status

    with progress("import") as tell:
        made = import_warcs(files, settings.with_values({"max-tries": 1}), _warn, tell)
    found = status(made.store)
    if as_json:
        show_json({"store": str(made.store), "records": made.records, "skipped": made.skipped})
    else:
        show_facts(_warc_facts(made, found))


_FIRST_PLURAL = re.compile(r"(record|revisit)s")


def _warn(line: str) -> None:
    click.echo(f"{PROGRAM}: {visible(line)}", err=True)


def _warc_facts(made: WarcImport, found: Status) -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "records", f"{made.records:,}"
    known = f"{found.pages_known:,} known on {counted(found.hosts, 'host')}"
    yield "pages", f"{found.pages_fetched or 0:,} read, of {known}"
    for name, counts in (("failed", found.failures), ("refused", found.refusals)):
        if counts:
            yield name, ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    for reason, count in sorted(made.skipped.items(), key=lambda item: -item[1]):
        # In the singular: `1 record of robots.txt`.
        shown = _FIRST_PLURAL.sub(r"\1", reason, count=1) if count == 1 else reason
        yield "left out", f"{count:,} {shown}"
    if found.convergence is not None and found.convergence.is_complete:
        yield "next step", f"`minicrawl top{naming(made.store)}` shows the most important pages"
    else:
        yield "next step", f"`minicrawl refine{naming(made.store)}` makes the ranks converge"


# ---------------------------------------------------------------- graph files


def _refuse_options_of_pages() -> None:
    context = click.get_current_context()
    for option in context.command.params:
        is_given = context.get_parameter_source(option.name or "") is ParameterSource.COMMANDLINE
        if is_given and isinstance(option, SettingOption) and option.name != "store":
            raise UsageError(f"{option.opts[0]} is for WARC files: a graph file has only links")


def _import_graph(file: Path, store: Path, *, as_json: bool) -> None:
    from minicrawl.crawl.imports.graph_import import import_graph
    from minicrawl.graphfiles import PIPE
    from minicrawl.report.graph.source import opened
    from minicrawl.store.reader import refuse_to_overwrite

    refuse_to_overwrite(store)
    with opened(store, file, progress) as source:
        named = source.graph
    label = "stdin" if str(file) == PIPE else file.name
    with progress("import") as tell:
        made = import_graph(named, store, label, time.time(), tell)
    if as_json:
        show_json(asdict(made) | {"store": str(made.store)})
    else:
        show_facts(_graph_facts(made))


def _graph_facts(made: Imported) -> Iterator[tuple[str, str]]:
    yield "store", str(made.store)
    yield "pages", f"{made.pages:,}, {made.read:,} with links"
    yield "links", f"{made.links:,}"
    if made.merged:
        yield "merged", f"{counted(made.merged, 'name')} with the same URL as another one"
    if made.self_links:
        links = counted(made.self_links, "link")
        yield "left out", f"{links} from a page to itself"
    yield "next step", f"`minicrawl refine{naming(made.store)}` makes the ranks converge"


# ================================================================ move


@click.command()
@click.argument("new", type=click.Path())
@json_option
@own_store_option
def move(new: str, store: Path, as_json: bool) -> None:
    """Move the store and its files to NEW, a file or a folder.

    A NEW that ends in / is a folder. Missing folders are created.

    Files of a store have its name followed by `-` or `.log`: ranks, the link index, kept pages,
    logs. A store cannot be moved while a crawl writes it. Repeat the command to complete an
    interrupted move.
    """
    from minicrawl.store.files import move as move_store

    def tell(folder: Path) -> None:
        click.echo(f"made the folder {visible(str(folder))}", err=True)

    files = move_store(store, Path(new), is_folder=new.endswith("/"), made=tell)
    if as_json:
        show_json([str(file) for file in files])
    else:
        for file in files:
            click.echo(visible(str(file)))


# ================================================================ forget


@click.command()
@click.argument("what", metavar="[URL]", required=False)
@click.option(
    "--keep-versions",
    "versions",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep only the last N versions of each page.",
)
@click.option("--before", metavar="TIME", help="Remove versions older than this time.")
@click.option(
    "--best",
    metavar="N",
    type=click.IntRange(min=1),
    help="Keep only the N most important pages, and the files that a web archive of them has.",
)
@click.option("--type", "media", metavar="TYPE", help="Remove a media type, such as image/*.")
@click.option(
    "--archives",
    metavar="FILE|DIR",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Rewrite this .warc or .warc.gz file, or those in DIR, and their CDXJ files, without "
    "the records of URL. Repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be removed, without removing it.")
@json_option
@own_store_option
def forget(
    what: str | None,
    store: Path,
    archives: tuple[Path, ...],
    versions: int | None,
    before: str | None,
    best: int | None,
    media: str | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Take URL down, or remove old or unimportant versions, or those of a media type.

    With * at its end, URL is a prefix of the URLs of many pages. Kept responses, titles, texts of
    links and the search index are removed, and compression dictionaries are trained again
    without these pages; `minicrawl index` rebuilds the index. The store keeps a digest in place of
    each URL, so that links to it still count and it is never requested again. Exports, WARC files
    that --archives does not name, stores that --fresh set aside, and texts of other pages are not
    changed. Repeat the command to complete an interrupted take-down. `minicrawl status` lists
    take-downs.

    With options that say which versions to remove, nothing is taken down: only kept versions are
    removed, those of URL if it is given. Damaged records are listed and removed as well; then the
    exit code is 1.

    The remaining versions are copied to new files first, so there must be room for them, and no
    crawl may be running. A program that is reading the archive is not disturbed; the next crawl or
    `forget` then removes the old files.
    """
    if archives and (what is None or dry_run or any((versions, before, best, media))):
        raise click.UsageError("--archives needs a URL to take down, and no other option")
    if any((versions, before, best, media)):
        chosen = versions, before, best, media
        _prune(store, what, chosen, dry_run=dry_run, as_json=as_json)
    elif what is not None:
        _take_down(store, what, archives, dry_run=dry_run, as_json=as_json)
    else:
        raise click.UsageError(
            "URL, --keep-versions, --before, --best or --type must say what to remove"
        )


def _take_down(
    store: Path, what: str, archives: tuple[Path, ...], *, dry_run: bool, as_json: bool
) -> None:
    from minicrawl.crawl.record.archiving import forget as take_down, would_forget
    from minicrawl.store.reader import reading

    with reading(store):  # refuses a missing store, which the take-down would create
        pass
    now = time.time()
    done = would_forget(store, what) if dry_run else take_down(store, what, now, archives)
    if as_json:
        show_json(done._asdict() | {"is_complete": done.is_complete and not dry_run})
    else:
        facts = [("removed answers", done.answers), ("pages", done.pages)]
        if archives:
            facts += [("rewritten archives", len(done.archives)), ("records", done.records)]
        show_facts([(name, f"{count:,}") for name, count in facts])
    if not done.pages:
        click.echo(
            f"{PROGRAM}: the store knows no page {visible(what)}, or took it down before", err=True
        )
    if done.warcs:
        folder = visible(done.warcs)
        click.echo(
            f"{PROGRAM}: WARC files in {folder} are not changed: repeat with --archives {folder}",
            err=True,
        )
    for archive_left in done.unreached:
        click.echo(f"{PROGRAM}: not changed: {visible(archive_left)}", err=True)
    for store_aside in done.aside:
        click.echo(
            f"{PROGRAM}: {visible(store_aside)}, set aside by --fresh, is not changed: "
            "repeat the command with this store, or delete it",
            err=True,
        )
    if done.pages:
        click.echo(f"{PROGRAM}: pages that link there keep their own texts", err=True)
    if not done.is_complete:
        click.echo(f"{PROGRAM}: the old files are being read: repeat the command later", err=True)
    click.get_current_context().exit(0 if done.is_complete and not done.unreached else 1)


def _prune(
    store: Path,
    what: str | None,
    chosen: tuple[int | None, str | None, int | None, str | None],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    versions, before, best, media = chosen
    from minicrawl.archive.pruning import PruneRules, Pruning
    from minicrawl.archive.reader import verify
    from minicrawl.crawl.record.archiving import UrlPattern, prune_store
    from minicrawl.report.archived.captures import keys_of_best, keys_of_type
    from minicrawl.report.archived.page_versions import kept_pages, moment
    from minicrawl.report.snapshot import snapshot

    at = None if before is None else moment(before)
    with snapshot(store) as seen, kept_pages(seen) as reader:
        keys = None if best is None else keys_of_best(seen, reader, best)
        gone = keys_of_type(reader, media) if media else set[int]()
        within = None if what is None else UrlPattern.of(what).keys(reader)
        rules = PruneRules(versions=versions, before=at, keys=keys, gone=gone, within=within)
        pruning, is_gone = Pruning(reader, rules), True
        pruning.refuse_all(reader)
        damaged = list(verify(reader))
    if what is not None and not within:
        click.echo(f"{PROGRAM}: no response of {visible(what)} is kept", err=True)
    for line in damaged:
        click.echo(f"{PROGRAM}: damaged, so removed as well: {visible(line)}", err=True)
    if not dry_run:
        pruning, is_gone = prune_store(store, rules)
    _show_pruning(pruning, as_json, is_gone=is_gone, is_done=is_gone and not dry_run)
    click.get_current_context().exit(1 if damaged else 0)


def _show_pruning(pruning: Pruning, as_json: bool, *, is_gone: bool, is_done: bool) -> None:
    facts = {"answers": pruning.records, "bytes": pruning.record_bytes}
    facts |= {"removed answers": pruning.dropped, "removed bytes": pruning.freed_bytes()}
    if as_json:
        show_json(facts | {"done": is_done})
    else:
        show_facts((name, f"{value:,}") for name, value in facts.items())
        if not is_gone:
            click.echo(
                "another program is reading the old files: the next crawl or forget removes them"
            )


# ================================================================ archive
#
# `minicrawl archive`: the files of kept pages.

folder_argument = click.argument(
    "folder",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


@click.command()
@folder_argument
@click.option(
    "--verify",
    "verifies",
    is_flag=True,
    help="Verify all records, and list damaged ones. Exits 1 if there are any.",
)
@json_option
@store_with_pages_option
def archive(folder: Path | None, store: Path, *, verifies: bool, as_json: bool) -> None:
    """Describe or verify kept pages.

    FOLDER is an archive, with or without its store. The default is the archive of the store.
    """
    if folder is not None and "store" in given_options():
        raise click.UsageError("--store and FOLDER cannot be combined")
    (_verify if verifies else _describe)(store, folder, as_json=as_json)


def _describe(store: Path, folder: Path | None, *, as_json: bool) -> None:
    """Show the number and size of records."""
    with _opened(store, folder) as reader:
        totals = reader.index.totals(reader.end)
        found = {f"{one.kind.name.lower()} records": one.records for one in totals}
        found["bytes"] = sum(one.record_bytes for one in totals)
        found["segments"] = len(reader.segments.numbers())
    for line in _lost(store, folder):
        click.echo(visible(line), err=True)
    if as_json:
        show_json(found)
    else:
        show_facts((name, f"{value:,}") for name, value in found.items())


def _verify(store: Path, folder: Path | None, *, as_json: bool) -> None:
    """List damaged records, and exit 1 if there are any."""
    from minicrawl.archive.reader import verify

    with _opened(store, folder) as reader:
        wrong = [*_lost(store, folder), *verify(reader)]
        records = sum(one.records for one in reader.index.totals(reader.end))
    if as_json:
        show_json({"ok": not wrong, "records": records, "wrong": wrong})
    else:
        for line in wrong or [f"ok: {counted(records, 'record')}"]:
            click.echo(visible(line))
    click.get_current_context().exit(1 if wrong else 0)


@contextmanager
def _opened(store: Path, folder: Path | None) -> Iterator[ArchiveReader]:
    """Open the archive as of the last commit of its store.

    Lock it before reading the store, so that a crawl that prunes it meanwhile deletes no file.
    """
    from minicrawl.archive.reader import ArchiveReader
    from minicrawl.archive.segments import held
    from minicrawl.report.archived.page_versions import folder_of

    place = folder_of(store, folder)
    hold = held(place)
    try:
        with closing(ArchiveReader(place, _end(store, folder))) as reader:
            yield reader
    finally:
        if hold is not None:
            os.close(hold)


def _end(store: Path, folder: Path | None) -> int | None:
    """Return the end of the archive, as of the last commit of the store."""
    if folder is not None:
        return None
    from minicrawl.report.archived.page_versions import kept_pages
    from minicrawl.report.snapshot import snapshot

    with snapshot(store) as seen, kept_pages(seen) as found:
        return found.end


def _lost(store: Path, folder: Path | None) -> list[str]:
    if folder is not None:
        return []
    from minicrawl.report.archived.page_versions import lost_pages
    from minicrawl.store.reader import archive_folder, reading

    with reading(store) as connection:
        return list(lost_pages(connection, archive_folder(store)))
