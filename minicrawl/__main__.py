"""`python -m minicrawl` is the same as `minicrawl`."""

import sys

from minicrawl.cli import main

sys.exit(main())
