"""Stores that are made without a network: of WARC files, and of a graph.

Law: the store gets its name when it is complete, and no store is overwritten.
"""

from __future__ import annotations
