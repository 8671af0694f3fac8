"""`python -m tests.picture`: record a demo crawl at a terminal and draw it as docs/img/crawl.svg.

The command runs at a pseudo-terminal as it would for a user. The picture shows the panel of
progress from the middle of the crawl, and what the command prints at the end.
"""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import click
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

PICTURE = Path(__file__).parents[1] / "docs" / "img" / "crawl.svg"
COMMAND = "minicrawl crawl --demo"
ROWS, COLUMNS = 50, 112

# rich moves up line by line and erases before it draws the panel again.
_ERASED = re.compile(r"(?:\r?\x1b\[2K|\x1b\[1A)+")
_CURSOR = re.compile(r"\x1b\[\?25[lh]")

_FONTS = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>A demo crawl at a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: FONTS; font-size: {char_height}px;
  line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: FONTS; font-size: 16px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
""".replace("FONTS", _FONTS)


def recording(words: list[str], folder: Path) -> str:
    """Run a command at a pseudo-terminal and return everything that it writes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    command = [sys.executable, "-m", *words]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b"".join(_chunks(ours))
    os.close(ours)
    if process.wait():
        raise click.ClickException(f"{words} ended with exit code {process.returncode}")
    return written.decode().replace("\r\n", "\n")


def _chunks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 65_536)
        except OSError:  # Linux: the other end is closed
            return
        if not chunk:
            return
        yield chunk


def frames(recorded: str) -> list[str]:
    """Return each drawing of the panel, and last what stays on the terminal."""
    pieces = _ERASED.split(_CURSOR.sub("", recorded))
    return [piece.strip("\n") for piece in pieces if piece.strip()]


def drawing(recorded: str) -> str:
    """Return the picture as an SVG that refers to no other file."""
    *panels, end = frames(recorded)
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text(f"$ {COMMAND}", style="bold"))
    for part in (panels[len(panels) // 2], end):
        text = Text.from_ansi(part)
        text.no_wrap, text.overflow = True, "ellipsis"
        console.print(text)
        console.print()
    return console.export_svg(title=COMMAND, theme=MONOKAI, code_format=_SVG, unique_id="terminal")


@click.command()
@click.option("--into", type=click.Path(path_type=Path), default=PICTURE, help="The SVG file.")
def main(into: Path) -> None:
    """Record a demo crawl and draw it."""
    with tempfile.TemporaryDirectory() as folder:
        recorded = recording(COMMAND.split(), Path(folder))
    into.parent.mkdir(parents=True, exist_ok=True)
    into.write_text(drawing(recorded), encoding="utf-8")
    click.echo(into)


if __name__ == "__main__":
    main()
