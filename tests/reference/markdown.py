"""Text of helps and docstrings as Markdown, and the frame of a page."""

import inspect
import re
from collections.abc import Iterable

NOTICE = "<!-- Written by `python -m tests.reference --write`: edit the code, not this page. -->"
FIELD = re.compile(r"^    (\w+): ([^#=\n]+?)(?: = [^#\n]+?)?(?:  # (.+))?$", re.MULTILINE)
"""Name, type and comment of a field in the source of its class."""

_CODE_SPAN = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*_<>\[\]])")


def prose(text: str) -> str:
    """Return text of a help or docstring as Markdown, with all outside of backticks escaped."""
    pieces = _CODE_SPAN.split(" ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else _SPECIAL.sub(r"\\\1", piece) for piece in pieces
    )


def paragraphs(text: str) -> str:
    """Return a docstring as Markdown; examples, and what click must not wrap (\\b), become code."""
    parts = [part for part in re.split(r"\n\s*\n", inspect.cleandoc(text)) if part.strip()]
    return "\n\n".join(_paragraph(part) for part in parts)


def _paragraph(part: str) -> str:
    lines = part.strip("\n").removeprefix("\b\n")
    if lines != part.strip("\n") or lines.startswith((">>>", " ")):
        return f"```text\n{inspect.cleandoc(lines)}\n```"
    return prose(lines)


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTICE, *parts]) + "\n"


def anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def listed(names: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last
