"""`minicrawl import`: a store from WARC files, or from a graph file."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from minicrawl.cli.options import CommandWithSettings, SettingOption, loaded_options, naming
from minicrawl.cli.output import show_facts, show_json, warn
from minicrawl.cli.progress_bar import progress
from minicrawl.config import Loaded, Settings
from minicrawl.errors import UsageError
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.crawl.imports.warc_import import WarcImport
    from minicrawl.report.progress.crawl_status import Status

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
    that the pages need. What is whole in a damaged file is imported; then the exit code is 1.

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
        context = click.get_current_context()
        for option in context.command.params:
            source = context.get_parameter_source(option.name or "")
            is_setting = isinstance(option, SettingOption) and option.name != "store"
            if is_setting and source is ParameterSource.COMMANDLINE:
                raise UsageError(f"{option.opts[0]} is for WARC files: a graph file has only links")
        _import_graph(links[0], loaded.settings.storing.store, as_json=as_json)


def _import_warcs(files: Sequence[Path], settings: Settings, *, as_json: bool) -> None:
    from minicrawl.crawl.imports.warc_import import import_warcs
    from minicrawl.report.progress.crawl_status import status

    with progress("import") as advance:
        summary = import_warcs(files, settings.with_values({"max-tries": 1}), warn, advance)
    read_pages = status(summary.store)
    if as_json:
        show_json(summary)
    else:
        show_facts(_warc_facts(summary, read_pages))
    click.get_current_context().exit(1 if summary.damages else 0)


_FIRST_PLURAL = re.compile(r"(record|revisit)s")


def _warc_facts(summary: "WarcImport", status: "Status") -> Iterator[tuple[str, str]]:
    yield "store", str(summary.store)
    yield "records", f"{summary.records:,}"
    known = f"{status.pages_known:,} known on {counted(status.hosts, 'host')}"
    yield "pages", f"{status.pages_fetched or 0:,} read, of {known}"
    for name, counts in (("failed", status.failures), ("refused", status.refusals)):
        if counts:
            yield name, ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
    for reason, count in sorted(summary.skipped.items(), key=lambda item: -item[1]):
        # In the singular: `1 record of robots.txt`.
        shown = _FIRST_PLURAL.sub(r"\1", reason, count=1) if count == 1 else reason
        yield "left out", f"{count:,} {shown}"
    if status.convergence is not None and status.convergence.is_complete:
        yield "next step", f"`minicrawl top{naming(summary.store)}` shows the most important pages"
    else:
        yield "next step", f"`minicrawl refine{naming(summary.store)}` makes the ranks converge"


def _import_graph(file: Path, store: Path, *, as_json: bool) -> None:
    from minicrawl.crawl.imports.graph_import import import_graph
    from minicrawl.graphfiles import PIPE
    from minicrawl.report.graph.source import opened
    from minicrawl.store.reader import refuse_to_overwrite

    refuse_to_overwrite(store)
    with opened(store, file, progress) as source:
        named = source.graph
    label = "stdin" if str(file) == PIPE else file.name
    with progress("import") as advance:
        summary = import_graph(named, store, label, time.time(), advance)
    if as_json:
        show_json(summary)
        return
    facts = [
        ("store", str(summary.store)),
        ("pages", f"{summary.pages:,}, {summary.read:,} with links"),
        ("links", f"{summary.links:,}"),
    ]
    if summary.merged:
        merged = counted(summary.merged, "name")
        facts.append(("merged", f"{merged} with the same URL as another one"))
    if summary.self_links:
        facts.append(("left out", f"{counted(summary.self_links, 'link')} from a page to itself"))
    next_step = f"`minicrawl refine{naming(summary.store)}` makes the ranks converge"
    show_facts([*facts, ("next step", next_step)])
