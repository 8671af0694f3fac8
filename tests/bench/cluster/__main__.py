"""Benchmarks of a cluster. Nothing is asserted.

    python -m tests.bench.cluster scale --into docs/speed.md
    python -m tests.bench.cluster move --into docs/speed.md
    python -m tests.bench.cluster agree --into docs/speed.md

Without an argument all three run.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from tests.bench.cluster.agreeing import agreement
from tests.bench.cluster.moving import moves
from tests.bench.cluster.scaling import Scene, Times, paces, scaling_table
from tests.bench.notes import circumstances, into_document, tell

_QUESTIONS = ("scale", "move", "agree")


def _numbers(_: click.Context, __: click.Parameter, text: str) -> list[int]:
    return [int(float(number)) for number in text.split(",")]


def _scale(folder: Path, scenes: list[Scene], cores: float, times: Times) -> Iterator[str]:
    measured = []
    for pace in paces(folder, scenes, cores, times):
        click.echo(f"{pace.scene}: {pace.pages_a_second:,.0f} pages/s", err=True)
        measured.append(pace)
    counted = f"{times.counted_s:g} s of a crawl {times.age_s:g} s old"
    yield f"Nodes limited to {cores:g} of a core each, {counted}."
    yield ""
    yield from scaling_table(measured, cores)


@click.command()
@click.argument("questions", nargs=-1, type=click.Choice(_QUESTIONS))
@click.option("--nodes", default="1,2,4,8", show_default=True, callback=_numbers)
@click.option("--servers", default="1,3", show_default=True, callback=_numbers)
@click.option(
    "--shards", default="0,8", show_default=True, callback=_numbers, help="0: one for each node."
)
@click.option("--cores", default=0.2, show_default=True, help="Limit of each node.")
@click.option("--age", default=50.0, show_default=True, help="Age of the crawl, in seconds.")
@click.option("--seconds", default=15.0, show_default=True)
@click.option("--pages", default="1e6", show_default=True, help="Pages of the shard that moves.")
@click.option("--kept", default="0", show_default=True, help="Kept pages of that shard.")
@click.option("--moves", "count", default=4, show_default=True)
@click.option("--demo-pages", default=4000, show_default=True)
@into_document
def main(  # noqa: PLR0913, PLR0917 (each is an option of its own)
    questions: tuple[str, ...],
    nodes: list[int],
    servers: list[int],
    shards: list[int],
    cores: float,
    age: float,
    seconds: float,
    pages: str,
    kept: str,
    count: int,
    demo_pages: int,
    into: Path | None,
) -> None:
    with TemporaryDirectory(prefix="minicrawl-bench-") as name:
        folder = Path(name)
        for question in questions or _QUESTIONS:
            if question == "scale":
                scenes = [
                    scene
                    for s, n in product(servers, nodes)
                    for scene in (Scene(n, s, 1, apart=True), *(Scene(n, s, h) for h in shards))
                ]
                lines = _scale(folder, scenes, cores, Times(age, seconds))
            elif question == "move":
                lines = moves(folder, int(float(pages)), int(float(kept)), count)
            else:
                lines = agreement(folder, demo_pages)
            tell([circumstances(), "", *lines], f"cluster: {question}", into)


if __name__ == "__main__":
    main()
