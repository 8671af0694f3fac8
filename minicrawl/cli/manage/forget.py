"""`minicrawl forget`: take pages down, or free the space of old versions."""

import time
from pathlib import Path

import click

from minicrawl.cli.output import show_facts, show_json, warn
from minicrawl.cli.parameters import number, option, switch, with_options
from minicrawl.cli.store_options import json_option, own_store_option
from minicrawl.wording import visible


@click.command()
@click.argument("url", metavar="[URL]", required=False)
@with_options
@json_option
@own_store_option
def forget(
    url: str | None,
    store: Path,
    as_json: bool,
    versions: int | None = number(
        "Keep only the last N versions of each page.", flag="--keep-versions"
    ),
    before: str | None = option("Remove versions older than this time.", metavar="TIME"),
    best: int | None = number(
        "Keep only the N most important pages, and the files that a web archive of them has."
    ),
    media: str | None = option(
        "Remove a media type, such as image/*.", flag="--type", metavar="TYPE"
    ),
    archives: tuple[Path, ...] = option(
        "Rewrite this .warc or .warc.gz file, or those in DIR, and their CDXJ files, without "
        "the records of URL. Repeatable.",
        metavar="FILE|DIR",
        multiple=True,
        type=click.Path(exists=True, path_type=Path),
    ),
    why: str | None = option(
        "Reason of the take-down, for takedowns.jsonl, the log beside the files of --archives.",
        metavar="TEXT",
    ),
    dry_run: bool = switch("Show what would be removed, without removing it."),
) -> None:
    """Take URL down, or remove old or unimportant versions, or those of a media type.

    With * at its end, URL is a prefix of the URLs of many pages. Kept responses, titles, texts of
    links and the search index are removed, and compression dictionaries are trained again without
    these pages; `minicrawl index` rebuilds the index. The store keeps a digest in place of each
    URL, so that links to it still count and it is never requested again. Exports, WARC files that
    --archives does not name, stores that --fresh set aside, and texts of other pages are not
    changed. A file of --archives is replaced when its copy was verified. The log beside it has the
    time, the digest of URL, --why, the IDs of the removed records, and the SHA-256 of both. Repeat
    the command to complete an interrupted take-down. `minicrawl status` lists take-downs.

    With options that say which versions to remove, nothing is taken down: only kept versions are
    removed, those of URL if it is given. Damaged records are listed and removed as well; then the
    exit code is 1.

    The remaining versions are copied to new files first, so there must be room for them, and no
    crawl may be running. A program that is reading the archive is not disturbed; the next crawl or
    `forget` then removes the old files.
    """
    if archives and (url is None or dry_run or any((versions, before, best, media))):
        raise click.UsageError("--archives needs a URL to take down, and no option but --why")
    if why is not None and not archives:
        raise click.UsageError("--why needs --archives, whose log says it")
    if any((versions, before, best, media)):
        chosen = versions, before, best, media
        _prune(store, url, chosen, dry_run=dry_run, as_json=as_json)
    elif url is not None:
        _take_down(store, url, archives, why or "", dry_run=dry_run, as_json=as_json)
    else:
        raise click.UsageError(
            "URL, --keep-versions, --before, --best or --type must say what to remove"
        )


def _take_down(
    store: Path, url: str, archives: tuple[Path, ...], why: str, *, dry_run: bool, as_json: bool
) -> None:
    from minicrawl.crawl.record.archiving import forget as take_down, would_forget
    from minicrawl.store.reader import reading

    with reading(store):  # refuses a missing store, which the take-down would create
        pass
    now = time.time()
    done = would_forget(store, url) if dry_run else take_down(store, url, now, archives, why)
    if as_json:
        show_json(done._asdict() | {"is_complete": done.is_complete and not dry_run})
    else:
        facts = [("removed answers", done.answers), ("pages", done.pages)]
        if archives:
            facts += [("rewritten archives", len(done.archives)), ("records", done.records)]
        show_facts([(name, f"{count:,}") for name, count in facts])
    if not done.pages:
        warn(f"the store knows no page {visible(url)}, or took it down before")
    if done.warcs:
        folder = visible(done.warcs)
        warn(f"WARC files in {folder} are not changed: repeat with --archives {folder}")
    for archive_left in done.unreached:
        warn(f"not changed: {visible(archive_left)}")
    for aside in done.aside:
        warn(
            f"{visible(aside)}, set aside by an earlier run, is not changed: "
            "delete it or, if it is a store, repeat the command with it"
        )
    if done.pages:
        warn("pages that link there keep their own texts")
    if not done.is_complete:
        warn("the old files are being read, or not deleted in the object store: repeat it later")
    click.get_current_context().exit(0 if done.is_complete and not done.unreached else 1)


def _prune(
    store: Path,
    url: str | None,
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
    with snapshot(store) as view, kept_pages(view) as reader:
        keys = None if best is None else keys_of_best(view, reader, best)
        gone = keys_of_type(reader, media) if media else set[int]()
        within = None if url is None else UrlPattern.of(url).keys(reader)
        rules = PruneRules(versions=versions, before=at, keys=keys, gone=gone, within=within)
        pruning, is_gone = Pruning(reader, rules), True
        pruning.refuse_all(reader)
        damaged = list(verify(reader))
    if url is not None and not within:
        warn(f"no response of {visible(url)} is kept")
    for line in damaged:
        warn(f"damaged, so removed as well: {visible(line)}")
    if not dry_run:
        pruning, is_gone = prune_store(store, rules)
    facts = {"answers": pruning.records, "bytes": pruning.record_bytes}
    facts |= {"removed answers": pruning.dropped, "removed bytes": pruning.freed_bytes()}
    if as_json:
        show_json(facts | {"done": is_gone and not dry_run})
    else:
        show_facts((name, f"{value:,}") for name, value in facts.items())
        if not is_gone:
            click.echo(
                "the old files are being read, or the object store did not delete them: the next "
                "crawl or forget removes them"
            )
    click.get_current_context().exit(1 if damaged else 0)
