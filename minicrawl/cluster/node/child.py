"""The child process in which a node crawls a shard.

Laws: it ends at once when its node does. Nothing is asked for before the node has said what the
shard may do. How the crawl ended is the last thing that it says.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

from minicrawl.app import Crawl
from minicrawl.cluster.access import opened
from minicrawl.cluster.engine import ClusterEngine, Fenced
from minicrawl.cluster.node.exchange import EngineExchange
from minicrawl.cluster.node.shard_process import ShardCommand, ShardEnd, ShardJob, ShardOrders
from minicrawl.config import Loaded, load
from minicrawl.config.table import BY_NAME
from minicrawl.control.client import ask
from minicrawl.control.requests import ControlRequest, Reply, Verb
from minicrawl.crawl.process_memory import keep_large_arrays_apart
from minicrawl.crawl.shard.exchange import ShardSetup
from minicrawl.crawl.workers.channel import PickleChannel, connection_at_stdin, receive_message
from minicrawl.errors import MinicrawlError, NoCrawlError, NoRoom
from minicrawl.shards.owners import ShardPlace

_AGAIN_S = 0.1
