"""`minicrawl audit`: the issues of a site for its owner, and their pages."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from minicrawl.cli.output import percent, show_json, show_list
from minicrawl.cli.parameters import choice, option, switch, with_options
from minicrawl.cli.progress_bar import progress
from minicrawl.cli.store_options import count_option, json_option, store_option
from minicrawl.errors import UsageError
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.audit.built_site import BuiltSite
    from minicrawl.audit.findings import AuditChange, SiteAudit

Command = Callable[..., Any]


def _of_site(command: Command) -> Command:
    """Crawl the site or the built folder that the first argument names, if it names one."""

    @functools.wraps(command)
    def with_site(issues: tuple[str, ...], base: str, store: Path | None, **options: Any) -> Any:
        site = next((issue for issue in issues[:1] if "/" in issue or "." in issue), None)
        if site is None:
            return command(issues=issues, store=store, built=None, **options)
        from minicrawl.audit.built_site import crawl_site

        with TemporaryDirectory() as folder:
            path = store or Path(folder) / "site.db"
            built = crawl_site(site, base, path, requisites=options["render"])
            return command(issues=issues[1:], store=path, built=built, **options)

    return click.option(
        "--base",
        metavar="URL",
        default="http://localhost/",
        show_default=True,
        help="The address that the pages of a built folder will have.",
    )(with_site)


@click.command()
@click.argument("issues", nargs=-1, metavar="[URL|FOLDER] [ISSUE]...")
@click.option("--host", metavar="NAME", help="Only pages of this host.")
@count_option(100)
@with_options
@json_option
@_of_site
@store_option
def audit(
    issues: tuple[str, ...],
    host: str | None,
    n: int,
    as_json: bool,
    store: Path,
    built: BuiltSite | None,
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
    ignore: Path | None = option(
        "Leave out what FILE accepts: lines of an issue, a pattern of pages or targets, the day on "
        "which that ends, and the reason.",
        metavar="FILE",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
    ),
    render: bool = switch(
        "Open a page of each template in a browser, from kept files, and check the rules of WCAG."
    ),
    fail_on: tuple[str, ...] = choice(
        ("error", "warning", "new"),
        "Exit 1 if there is an error, a warning or an error, or a new issue. Repeatable.",
        multiple=True,
    ),
) -> None:
    """List the issues of a site by cause, worst first.

    With URL or FOLDER, crawl that site, or a folder that a generator of sites made, first: into the
    store of --store, or into one that is deleted afterwards.

    A cause is what one change mends: a file, a target of links, a host or a folder whose pages all
    have the issue, a group of pages that are alike, or a page. With ISSUE, list its pages, most
    important first. The first audit after a crawl reads the kept pages, once each, and the next one
    tells what is new, still open and fixed. Issues that cannot be checked are counted with the
    reason.
    """
    from minicrawl.audit import findings
    from minicrawl.audit.built_site import OF_A_SERVER
    from minicrawl.audit.checks import is_issue
    from minicrawl.audit.formats import WRITERS
    from minicrawl.audit.ignores import read_ignores
    from minicrawl.memory.allocator import mmap_large_arrays
    from minicrawl.own_files import replacing

    mmap_large_arrays()
    if lists:
        rows = [
            (check.severity, check.name, check.text) for check in findings.chosen_checks(issues)
        ]
        show_list(("severity", "issue", "means"), rows, texts=2)
        return
    suffix = "" if out is None else out.suffix[1:].lower()
    if out is not None and suffix not in WRITERS:
        raise UsageError(f"{out}: unknown suffix; use one of .{', .'.join(WRITERS)}")
    names = list(issues)
    if built is not None and not issues:
        names = [
            check.name for check in findings.chosen_checks(()) if check.name not in OF_A_SERVER
        ]
    ignores = [] if ignore is None else read_ignores(ignore, is_issue)
    rendered = issues if render else None
    with (
        progress("pages") as advance,
        findings.audited(store, names, host, advance, ignores, rendered) as result,
    ):
        whole = result if built is None else replace(result, file_of=built.location)
        change = None
        if baseline is not None:
            change = whole.since(findings.read_baseline(baseline, whole))
        elif not issues and host is None:
            change = findings.keep_and_compare(whole)
        shown = whole if baseline is None or change is None else change.new
        if out is not None:
            with replacing(out) as file:
                WRITERS[suffix](shown, file, change)
        if as_json:
            show_json(findings.as_document(shown, change, n))
        elif issues:
            _show_pages(shown, n)
        else:
            _show_causes(shown, n)
        if change is not None and not as_json:
            counts = ", ".join(f"{count:,} {outcome}" for outcome, count in change.counts.items())
            click.echo(f"since {change.since}: {counts}")
        if _fails(fail_on or (("new",) if baseline else ()), shown, change):
            raise click.exceptions.Exit(1)


def _fails(fail_on: Sequence[str], audit: SiteAudit, change: AuditChange | None) -> bool:
    """Return True if there is an issue that the user does not accept."""
    kinds = {finding.check.severity for finding in audit.findings if finding.count}
    kinds |= {"warning"} if "error" in kinds else set()  # an error is worse
    kinds |= {"new"} if change is not None and change.counts["new"] else set()
    return not kinds.isdisjoint(fail_on)


def _show_causes(audit: SiteAudit, count: int) -> None:
    causes, _, counts = audit.table(count)
    rows = [
        (cause.severity, f"{cause.pages:,}", cause.issue, cause.target, cause.remedy)
        for cause in causes
    ]
    if rows:
        show_list(("severity", "pages", "issue", "target", "what to do"), rows, texts=3)
    number = counts.total()
    if number > len(rows):
        click.echo(f"{counted(number - len(rows), 'more cause')}: --n 0 shows all")
    click.echo(
        f"found {counted(number, 'cause')} of {counted(len(counts), 'issue')}, "
        f"checked {len(audit.findings)}, read {counted(audit.read, 'page')}"
    )
    _tell_skipped(audit)


def _show_pages(audit: SiteAudit, count: int) -> None:
    lines = [
        (percent(page.importance), "-" if page.value is None else f"{page.value:.12g}", page.url)
        for page in audit.pages(count)
    ]
    show_list(("importance", "value", "url"), lines, texts=1)
    left = sum(max(finding.count - count, 0) for finding in audit.findings) if count else 0
    if left:
        click.echo(f"{counted(left, 'more page')}: --n 0 shows all")
    _tell_skipped(audit)


def _tell_skipped(audit: SiteAudit) -> None:
    for outcome, left in (("not checked", audit.skipped), ("checked in part", audit.partial)):
        for why, issues in Counter(why for _, why in left).items():
            click.echo(f"{outcome}: {counted(issues, 'issue')} ({why})", err=True)
