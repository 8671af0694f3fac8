"""Adds manual pages and completions to the wheel, if `.ci/release` has written them.

They come from the commands, so whoever writes them needs all packages that minicrawl needs. A wheel
that is built from a checkout, by pip for one user, goes without.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MADE = "deploy/made"
PLACES = {
    "completions/minicrawl.bash": "share/bash-completion/completions/minicrawl",
    "completions/_minicrawl": "share/zsh/site-functions/_minicrawl",
    "completions/minicrawl.fish": "share/fish/vendor_completions.d/minicrawl.fish",
    "man1": "share/man/man1",
}


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files that exist, and where they are installed below the environment."""
        made = Path(self.root, MADE)
        for name, place in PLACES.items():
            if (made / name).exists():
                build_data["shared_data"][str(made / name)] = place
