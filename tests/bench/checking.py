"""Cost of checks of links and assets, compared with the crawl alone.

A site of 691 pages behind nginx has images, style sheets with fonts, scripts and anchors, and links
to other servers, some of them dead. It is crawled with and without `--check all`, in turn.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple

import click

from tests.bench.notes import circumstances, head, into_document, row, tell
from tests.real.nginx import serving

PAGES, IMAGES, STYLES, SCRIPTS, STRANGERS = 691, 240, 8, 12, 6
_TARGETS = 10
"""Number of linked pages on each other server; every fifth is dead."""


class Run(NamedTuple):
    """Seconds of a crawl, and the number of its requests."""

    seconds: float
    requests: int


def make_site(folder: Path, strangers: list[str]) -> None:
    """Write the files of the site, which links to these origins."""
    rng = Random(1)
    for image in range(IMAGES):
        (folder / f"{image}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + rng.randbytes(2000))
    for style in range(STYLES):
        fonts = "".join(f"@font-face{{src:url(font{3 * style + n}.woff)}}" for n in range(3))
        (folder / f"{style}.css").write_text(fonts)
    for script in range(SCRIPTS):
        (folder / f"{script}.js").write_text("let a = 1;\n" * 50)
    for font in range(3 * STYLES):
        (folder / f"font{font}.woff").write_bytes(rng.randbytes(3000))
    for page in range(PAGES):
        (folder / f"{page or 'index'}.html").write_text(_page(page, strangers, rng))


def _page(page: int, strangers: list[str], rng: Random) -> str:
    near = [2 * page + 1, 2 * page + 2, *(rng.randrange(1, PAGES) for _ in range(20))]
    links = "".join(f"<a href={n}.html#part{n % 3}>Page {n}</a> " for n in near if n < PAGES)
    far = "".join(
        f"<a href={rng.choice(strangers)}/{rng.randrange(_TARGETS)}.html>Far</a> " for _ in range(2)
    )
    images = "".join(f"<img src={rng.randrange(IMAGES)}.png alt=x>" for _ in range(5))
    words = " ".join(rng.choices(("apples", "pears", "plums", "figs", "grapes"), k=400))
    parts = "".join(f"<h2 id=part{n}>Part {n}</h2><p>{words}" for n in range(3))
    return (
        f"<!doctype html><title>Page {page}</title><link rel=stylesheet href={page % STYLES}.css>"
        f"<script src={page % SCRIPTS}.js></script><h1>{page}</h1>{images}{parts}{links}{far}"
    )


def crawled(seed: str, options: list[str], log: Path) -> Run:
    """Crawl the site in a process of its own."""
    before, began = len(log.read_text().splitlines()), time.monotonic()
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "minicrawl", "crawl", seed, "--store", f"{folder}/c.db"]
        options = ["--scope", "host", "--allow-private", "--per-address", "64", "-q", *options]
        done = subprocess.run([*command, "--json", *options], check=True, capture_output=True)
        answered = json.loads(done.stdout)["pages"]
    assert answered == PAGES, f"{answered} pages"
    return Run(time.monotonic() - began, len(log.read_text().splitlines()) - before)


def runs(seed: str, delay: str, rounds: int, log: Path) -> Iterator[tuple[Run, Run]]:
    """Yield pairs of runs: without and with checks."""
    polite = ["--delay", delay, "--address-delay", delay]
    for _ in range(rounds):
        yield crawled(seed, polite, log), crawled(seed, [*polite, "--check", "all"], log)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@into_document
def main(rounds: int, into: Path | None) -> None:
    lines = [circumstances(), ""]
    lines += head("delay", "crawl alone, s", "with checks, s", "ratio", "requests", "with checks")
    with TemporaryDirectory(prefix="minicrawl-checking-") as name:
        base = Path(name)
        base.chmod(0o755)  # nginx serves as a user of its own
        roots = {f"s{n}": base / f"s{n}" for n in range(STRANGERS + 1)}
        for root in roots.values():
            root.mkdir()
        with serving(roots, base) as nginx:
            origins = list(nginx.origins.values())
            make_site(roots["s0"], origins[1:])
            for root in list(roots.values())[1:]:
                for page in range(_TARGETS):
                    if page % 5:
                        (root / f"{page}.html").write_text("<title>far</title>far away")
            for delay in ("0", "0.02"):
                found = list(runs(f"{origins[0]}/index.html", delay, rounds, nginx.log))
                alone, checked = (sorted(one) for one in zip(*found, strict=True))
                ratio = statistics.median(two.seconds / one.seconds for one, two in found)
                middle = rounds // 2
                lines.append(
                    row(
                        f"{delay} s",
                        *(f"{one[middle].seconds:.1f}" for one in (alone, checked)),
                        f"{ratio:.2f}",
                        *(f"{one[middle].requests:,}" for one in (alone, checked)),
                    )
                )
    tell(lines, "checks", into)


if __name__ == "__main__":
    main()
