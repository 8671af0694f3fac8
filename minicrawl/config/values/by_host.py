"""Texts of settings that may be for one host, taken apart.

Whoever sends requests reads them again, in every process: this module imports no other of ours.
"""

import re
from pathlib import Path

_HOST = r"(?:https?://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s=:/@\[\]]+)(?::[0-9]{1,5})?"
HEADER = re.compile(
    rf"(?:(?P<host>{_HOST})=)?(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*(?P<value>.*)"
)
"""A header for all hosts, or for one."""
LOGIN = re.compile(rf"(?P<host>{_HOST})=(?:@(?P<file>.+)|(?P<secret>.+))")
"""What is sent to one host: the secret, or the file that has it."""

HOST_NAME = r"(\*\.)?[^\s*:/]+|\[[0-9A-Fa-f:.]+\]"
OF_A_HOST = re.compile(rf"(?:(?P<host>{HOST_NAME})=)?(?P<file>.+)")
"""A file for all hosts, or for one, or for all below `*.NAME`."""


def host_and_file(text: str) -> tuple[str, Path]:
    """The host that a file is for, `*.NAME` for all below a name; empty for all hosts."""
    found = OF_A_HOST.fullmatch(text)
    assert found is not None, "the table of settings has read it"
    return (found["host"] or "").strip("[]").lower(), Path(found["file"])
