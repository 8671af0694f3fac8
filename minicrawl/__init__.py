"""minicrawl: a single-machine web crawler that knows which pages matter while it crawls.

This module is cheap to import and stays so: it holds the version and nothing else.
"""

__version__ = "0.1.0"
