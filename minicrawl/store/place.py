"""Where a store is.

Law: a store that is known by several names, through symbolic links, is one file in one place; what
belongs to it is beside that file.
"""

import os
from pathlib import Path

from minicrawl.errors import UsageError


def real_path(path: Path) -> Path:
    """The file that the name leads to, be it there or not."""
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # what cannot be followed to an end stays a link
        raise UsageError(f"{path} is a symbolic link that leads in a circle")
    return place
