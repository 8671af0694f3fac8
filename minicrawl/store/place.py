"""Where a store is.

Law: a store with several names, through symbolic links, is one file in one place. The files that
belong to it are beside that file.
"""

import os
from pathlib import Path

from minicrawl.errors import UsageError


def real_path(path: Path) -> Path:
    """The file behind all symbolic links, whether it exists or not."""
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # realpath returns a link only if it cannot be resolved
        raise UsageError(f"{path} is a symbolic link to itself")
    return place
