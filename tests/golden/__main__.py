"""Rewrite the golden files after an intended change, or dump all rows:

python -m tests.golden --write
python -m tests.golden --dump FOLDER
"""

import json
from pathlib import Path

import click

from tests.golden import logs, surface
from tests.proofs.crash.memory import folder_in_memory


@click.command()
@click.option("--write", is_flag=True, help="Rewrite the digests and the surface.")
@click.option("--dump", type=click.Path(path_type=Path), help="Write all rows into this folder.")
def main(*, write: bool, dump: Path | None) -> None:
    """Crawl all cases. `diff -r` of the dumps before and after a change shows what it changed."""
    digests: dict[str, str] = {}
    for case in logs.CASES:
        with folder_in_memory() as folder:
            found = logs.logs(case, folder)
        digests |= logs.digests(case, found)
        if dump is not None:
            logs.dump(case, found, dump)
    if write:
        logs.GOLDEN.write_text(json.dumps(digests, indent=1) + "\n")
        surface.write(surface.surface())
    else:
        click.echo("\n".join(f"{name}: {digest}" for name, digest in digests.items()))


if __name__ == "__main__":
    main()
