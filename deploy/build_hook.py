"""What the packages get when they are built: addresses of the project, README, files for operators.

Addresses come from the environment, as the release workflow sets it, since a commit cannot know
where it will be published. Packages that are built without these variables name no address:

MINICRAWL_REPOSITORY  https://SERVER/OWNER/NAME
MINICRAWL_SITE        where the documents are

A package index shows README far from the files beside it, so its links lead to the repository.

Manual pages and completions come from the commands, so whoever writes them needs all packages that
minicrawl needs. `.ci/release` does so; a wheel that is built from a checkout, by pip for one user,
goes without.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

MADE = "deploy/made"
PLACES = {
    "completions/minicrawl.bash": "share/bash-completion/completions/minicrawl",
    "completions/_minicrawl": "share/zsh/site-functions/_minicrawl",
    "completions/minicrawl.fish": "share/fish/vendor_completions.d/minicrawl.fish",
    "man1": "share/man/man1",
}
_LINK = re.compile(r"\]\((?!https:|#)([^)\s]+)\)")
_ADDRESS = re.compile(r"https://[^\s/@]+(/[^\s/@]+)*/?")


def address_in(variable: str) -> str:
    """Return the address in a variable, without a slash at its end; "" if it is not set."""
    address = os.environ.get(variable, "")
    if address and not _ADDRESS.fullmatch(address):
        raise ValueError(f"{variable}={address!r}: must be https://SERVER/PATH")
    return address.rstrip("/")


class Addresses(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        """Name the addresses that are known.

        The field is set even if it is empty, or the metadata would announce that it may change.
        """
        urls, site = dict[str, str](), address_in("MINICRAWL_SITE")
        if repository := address_in("MINICRAWL_REPOSITORY"):
            urls["Repository"] = repository
            urls["Issues"] = f"{repository}/issues"
            urls["Changelog"] = f"{repository}/blob/HEAD/CHANGELOG.md"
            urls["Documentation"] = site or f"{repository}/tree/HEAD/docs"
        metadata["urls"] = urls
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": linked_to(repository, text) if repository else text,
        }


def linked_to(repository: str, text: str) -> str:
    """Return Markdown whose links to files lead to a repository, and pictures come from there."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if Path(link[1]).suffix in {".png", ".svg"} else "blob"
        return f"]({repository}/{kind}/HEAD/{link[1]})"

    return _LINK.sub(absolute, text)


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that exist, and where they are installed below the environment."""
        made = Path(self.root, MADE)
        for name, place in PLACES.items():
            if (made / name).exists():
                build_data["shared_data"][str(made / name)] = place
