"""A format: a function that writes blocks of columns to a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO


def write_markdown(
    blocks: Iterable[Mapping[str, Sequence[Any]]], file: BinaryIO, columns: Sequence[str]
) -> None:
    """Write a table in Markdown. Text of pages is escaped, so that none of it is markup."""
    file.write(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n".encode())
    for block in blocks:
        file.writelines(
            f"| {' | '.join(map(_cell, row))} |\n".encode()
            for row in zip(*block.values(), strict=True)
        )


def _cell(value: object) -> str:
    text = "" if value is None else " ".join(str(value).split())
    return "".join(f"\\{sign}" if sign in r"\|*_<>[]`#" else sign for sign in text)
