"""The door to the engine of a cluster: settings in, an open engine out.

Law: nothing of NATS is imported before an engine is opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.config import Cluster
from minicrawl.errors import UsageError

_MISSING = "a cluster needs nats-py: install minicrawl[cluster]"
