"""`minicrawl audit`: the issues of a site for its owner, and their pages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import count_option, json_option, store_option
from minicrawl.errors import UsageError
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.audit.findings import SiteAudit

_SHOWN = 100


@click.command()
@click.argument("issues", nargs=-1, metavar="[ISSUE]...")
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(_SHOWN)
@with_options
@json_option
@store_option
def audit(
    issues: tuple[str, ...],
    host: str | None,
    n: int,
    as_json: bool,
    store: Path,
    lists: bool = switch("List all issues that an audit checks for.", flag="--list"),
    out: Path | None = option(
        "Write all pages of the issues to FILE: .json, .csv, .xlsx, .sarif, or .xml for JUnit.",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False),
    ),
    baseline: Path | None = option(
        "Show only issues that are not in FILE, a .json of an earlier --out, and exit 1 if "
        "there are any.",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
    ),
) -> None:
    """List the issues of a site, worst first.

    With ISSUE, list its pages, most important first. The first audit after a crawl reads the kept
    pages, once each. Issues that cannot be checked are counted with the reason.
    """
    from minicrawl.audit.findings import as_document, audited, chosen_checks, read_baseline
    from minicrawl.audit.formats import WRITERS
    from minicrawl.memory.allocator import mmap_large_arrays
    from minicrawl.own_files import replacing

    mmap_large_arrays()
    if lists:
        rows = [(one.severity, one.name, one.means) for one in chosen_checks(issues)]
        show_list(("severity", "issue", "means"), rows, texts=2)
        return
    suffix = "" if out is None else out.suffix[1:].lower()
    if out is not None and suffix not in WRITERS:
        raise UsageError(f"{out}: unknown suffix; use one of .{', .'.join(WRITERS)}")
    known = None if baseline is None else read_baseline(baseline)
    with progress("pages") as advance, audited(store, issues, host, advance) as whole:
        audit_result = whole if known is None else whole.new_since(known)
        if out is not None:
            with replacing(out) as file:
                WRITERS[suffix](audit_result, audit_result.pages(), file)
        if as_json:
            show_json(as_document(audit_result, audit_result.pages(n)))
        elif issues:
            _show_pages(audit_result, n)
        else:
            _show_issues(audit_result)
        has_new = known is not None and any(one.count for one in audit_result.found)
    if has_new:
        raise click.exceptions.Exit(1)


def _show_issues(audit: SiteAudit) -> None:
    rows = audit.issues()
    lines = [(one.severity, f"{one.pages:,}", one.issue, one.example) for one in rows]
    if lines:
        show_list(("severity", "pages", "issue", "example"), lines, texts=2)
    looked = len(audit.found)
    click.echo(
        f"found {counted(len(rows), 'issue')}, checked {looked}, read {counted(audit.read, 'page')}"
    )
    _tell_skipped(audit)


def _show_pages(audit: SiteAudit, count: int) -> None:
    lines = [
        (percent(page.importance), "-" if page.value is None else f"{page.value:.12g}", page.url)
        for page in audit.pages(count)
    ]
    show_list(("importance", "value", "url"), lines, texts=1)
    left = sum(max(one.count - count, 0) for one in audit.found) if count else 0
    if left:
        click.echo(f"{counted(left, 'more page')}: --n 0 shows all")
    _tell_skipped(audit)


def _tell_skipped(audit: SiteAudit) -> None:
    for what, left in (("not checked", audit.skipped), ("checked in part", audit.partial)):
        for why, issues in Counter(why for _, why in left).items():
            click.echo(f"{what}: {counted(issues, 'issue')} ({why})", err=True)
