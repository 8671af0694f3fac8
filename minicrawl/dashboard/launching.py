"""A form becomes a crawl: its fields are checked, and `minicrawl crawl` is started with them.

Laws: a field is checked by the table of settings, as an option of the command line is, and what is
wrong with it is said at the field. The crawl is a process of its own: it goes on when the dashboard
ends, and nothing of the form reaches a shell.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from minicrawl.config.setting import Setting
from minicrawl.config.sources import Given
from minicrawl.config.table import BY_NAME
from minicrawl.control.client import ask
from minicrawl.control.requests import ControlRequest, Verb
from minicrawl.errors import FormError, MinicrawlError, NoCrawlError, UsageError
from minicrawl.web.urls import read_seeds

FIELDS = (
    *("scope", "max-depth", "allow", "deny"),
    *("pages", "for", "bytes", "until"),
    *("workers", "concurrency", "delay", "contact", "robots", "keep"),
)
"""The settings of the form."""
START_S = 30.0
DRY_RUN_S = 120.0
_LOOK_EVERY_S = 0.1
_SHOWN_COMPLAINTS = 5
_FEWEST_DEMO_PAGES, _MOST_DEMO_PAGES = 100, 1_000_000
_MOST_OUTPUT = 64 * 1024

Form = Mapping[str, Any]


def arguments_of(form: Form, *, has_store: bool) -> tuple[list[str], list[str]]:
    """The options and the seeds of the crawl; raises `FormError`."""
    wrong: dict[str, str] = {}
    options: list[str] = []
    for name in FIELDS:
        try:
            options += _options(BY_NAME[name], form.get(name))
        except UsageError as error:
            wrong[name] = str(error)
    if form.get("fresh"):
        options.append("--fresh")
    if form.get("demo"):
        options += _demo_options(form, wrong)
        seeds = []
    else:
        seeds = _seeds(form, wrong)
        if not seeds and "seeds" not in wrong and (form.get("fresh") or not has_store):
            wrong["seeds"] = "give a URL to start from"
    if wrong:
        raise FormError(wrong)
    return options, seeds


def _options(setting: Setting, value: object) -> list[str]:
    if value is None or value in ("", []):
        return []
    read = Given(value, setting.flag, " ").read_as(setting)
    if isinstance(value, bool):
        return [] if read else [setting.off]
    values = value if isinstance(value, list) else [value]
    return [f"{setting.flag}={one}" for one in values]


def _demo_options(form: Form, wrong: dict[str, str]) -> list[str]:
    pages = form.get("demo-pages") or 2000
    if not isinstance(pages, int) or not _FEWEST_DEMO_PAGES <= pages <= _MOST_DEMO_PAGES:
        wrong["demo-pages"] = f"must be from {_FEWEST_DEMO_PAGES} to {_MOST_DEMO_PAGES:,} pages"
    return ["--demo", f"--demo-pages={pages}"]


def _seeds(form: Form, wrong: dict[str, str]) -> list[str]:
    lines = str(form.get("seeds") or "").splitlines()
    complaints: list[str] = []
    seeds = list(
        read_seeds(lines, lambda number, text: complaints.append(f"line {number}: {text[:60]}"))
    )
    if complaints:
        more = len(complaints) - _SHOWN_COMPLAINTS
        shown = ", ".join(complaints[:_SHOWN_COMPLAINTS]) + (
            f" and {more} more" if more > 0 else ""
        )
        wrong["seeds"] = f"not a URL: {shown}"
    return seeds


# ---------------------------------------------------------------- processes


class Launcher:
    """Starts crawls of one store, and knows the last one that it has started."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None

    def has_running(self) -> bool:
        """Whether a crawl that it has started still runs."""
        return self._process is not None and self._process.poll() is None

    def ended(self) -> dict[str, Any] | None:
        """How the last crawl that it has started ended, if it has."""
        if self._process is None or self._process.poll() is None:
            return None
        return {"exit_code": self._process.returncode, "said": self._last_lines()}

    async def start(self, form: Form) -> None:
        """Start a crawl, and wait until it can be steered or has ended."""
        options, seeds = arguments_of(form, has_store=self._store.exists())
        if self.has_running() or await asyncio.to_thread(self._is_steered):
            raise MinicrawlError(f"a crawl of {self._store} is running: stop it first")
        self._output = TemporaryFile()  # noqa: SIM115  # open as long as the crawl may write to it
        with _file_of(seeds) as stdin:
            self._process = subprocess.Popen(
                self._command(options, seeds),
                stdin=stdin,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ends_at = asyncio.get_running_loop().time() + START_S
        while self.has_running() and not await asyncio.to_thread(self._is_steered):
            if asyncio.get_running_loop().time() > ends_at:
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        if (found := self.ended()) and found["exit_code"]:
            raise MinicrawlError(found["said"].splitlines()[-1] if found["said"] else "it ended")

    async def dry_run(self, form: Form) -> str:
        """What the crawl would do first, as `minicrawl crawl --dry-run` tells."""
        options, seeds = arguments_of(form, has_store=self._store.exists())
        with _file_of(seeds) as stdin:
            process = await asyncio.create_subprocess_exec(
                *self._command([*options, "--dry-run"], seeds),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(DRY_RUN_S):
                found, _ = await process.communicate()
        except TimeoutError:
            raise MinicrawlError(f"the dry run did not end in {DRY_RUN_S:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return found[:_MOST_OUTPUT].decode("utf-8", "replace")

    def _command(self, options: list[str], seeds: list[str]) -> list[str]:
        from_stdin = ["-"] if seeds else []
        where = ["--store", str(self._store), "--color=never", "--graph-stats"]
        return [sys.executable, "-m", "minicrawl", "crawl", *from_stdin, *where, *options]

    def _is_steered(self) -> bool:
        try:
            ask(self._store, ControlRequest(verb=Verb.SHOW))
        except NoCrawlError:
            return False
        except MinicrawlError:
            return True
        return True

    def _last_lines(self) -> str:
        output = self._output
        if output is None:
            return ""
        size = output.seek(0, 2)
        output.seek(max(size - _MOST_OUTPUT, 0))
        return output.read().decode("utf-8", "replace").strip()


def _file_of(seeds: list[str]) -> IO[bytes]:
    """A file with one seed a line, at its beginning."""
    file = TemporaryFile()  # noqa: SIM115  # the caller closes it
    file.write("".join(f"{seed}\n" for seed in seeds).encode())
    file.seek(0)
    return file
