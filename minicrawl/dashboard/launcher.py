"""Processes that a dashboard starts: a crawl, and a trial of its settings."""

import asyncio
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryFile
from threading import Lock
from typing import IO, Any

from minicrawl.config import Loaded
from minicrawl.control import ControlRequest, Verb, ask
from minicrawl.dashboard.crawl_form import CrawlForm, Form, failed, unset
from minicrawl.errors import MinicrawlError, NoCrawlError
from minicrawl.memory.child_interpreter import OWN_PYTHON

_START_S, _DRY_RUN_S = 30.0, 120.0
_LOOK_EVERY_S = 0.1
_MOST_OUTPUT = 64 * 1024


class Launcher:
    """Starter of crawls of one store, with the state of the last one."""

    def __init__(
        self, store: Path, base: Callable[[], Loaded] = unset, options: Sequence[str] = ()
    ) -> None:
        """`options` are added to each crawl."""
        self._store, self._options_of_all = store, options
        self.form = CrawlForm(store, base)
        self._process: Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._said, self._reading = "", Lock()

    def has_running(self) -> bool:
        """Return whether a crawl started here still runs."""
        return self._process is not None and self._process.poll() is None

    def ended(self) -> dict[str, Any] | None:
        """Return exit code and output of the last crawl started here, if it has ended."""
        if self._process is None or self._process.poll() is None:
            return None
        with self._reading:  # the first caller reads the output
            output, self._output = self._output, None
            if output is not None:
                with output:
                    output.seek(max(output.seek(0, 2) - _MOST_OUTPUT, 0))
                    self._said = output.read().decode("utf-8", "replace").strip()
        return {"exit_code": self._process.returncode, "said": self._said}

    async def start(self, form: Form) -> None:
        """Start a crawl, and wait until it can be controlled or has ended."""
        options, seeds = self.form.arguments(form)
        if self.has_running() or await asyncio.to_thread(self._has_crawl):
            raise MinicrawlError(f"a crawl of {self._store} is running: stop it first")
        self._output = TemporaryFile()  # noqa: SIM115  # open as long as the crawl may write to it
        with _file_of(seeds) as stdin:
            self._process = Popen(
                self._command(options, seeds),
                stdin=stdin,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        ends_at = asyncio.get_running_loop().time() + _START_S
        while self.has_running() and not await asyncio.to_thread(self._has_crawl):
            if asyncio.get_running_loop().time() > ends_at:
                return
            await asyncio.sleep(_LOOK_EVERY_S)
        if (outcome := self.ended()) and outcome["exit_code"]:
            raise failed(outcome["said"])

    async def dry_run(self, form: Form) -> str:
        """Return the output of `minicrawl crawl --dry-run` for the form."""
        options, seeds = self.form.arguments(form)
        with _file_of(seeds) as stdin:
            process = await asyncio.create_subprocess_exec(
                *self._command([*options, "--dry-run"], seeds),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(_DRY_RUN_S):
                output, _ = await process.communicate()
        except TimeoutError:
            raise MinicrawlError(f"the dry run did not end in {_DRY_RUN_S:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        text = output[:_MOST_OUTPUT].decode("utf-8", "replace")
        if process.returncode:
            raise failed(text.strip())
        return text

    def _command(self, options: list[str], seeds: list[str]) -> list[str]:
        from_stdin = ["-"] if seeds else []
        where = ["--store", str(self._store), "--color=never", "--graph-stats"]
        given = [*where, *self._options_of_all, *options]
        return [*OWN_PYTHON, "-m", "minicrawl", "crawl", *from_stdin, *given]

    def _has_crawl(self) -> bool:
        try:
            ask(self._store, ControlRequest(verb=Verb.SHOW))
        except NoCrawlError:
            return False
        except MinicrawlError:
            return True
        return True


def _file_of(seeds: list[str]) -> IO[bytes]:
    """Return a file with one seed per line, positioned at its start."""
    file = TemporaryFile()  # noqa: SIM115  # the caller closes it
    file.write("".join(f"{seed}\n" for seed in seeds).encode())
    file.seek(0)
    return file
