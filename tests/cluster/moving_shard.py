"""A shard that moves between nodes while its engine fails: base of tests with random steps."""

import tempfile
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from minicrawl.cluster.engine import EngineUnavailable
from minicrawl.errors import NoRoom
from tests.cluster.fake_engine import FakeServers, Fault

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Folder for stores: a disk would take most of the time."""
_FAULTS = st.lists(st.sampled_from([None, None, *Fault]), min_size=1, max_size=5)


class ShardNode(Protocol):
    """A node that holds the shard."""

    def end(self) -> None:
        """Close its files; the engine has everything that counts."""


AnyNode = TypeVar("AnyNode", bound=ShardNode)


class MovingShard(RuleBasedStateMachine, Generic[AnyNode]):
    """`node` holds the shard; `lost` are nodes that do not know that they have lost it."""

    def __init__(self) -> None:
        super().__init__()
        self.scratch = tempfile.TemporaryDirectory(dir=MEMORY)
        self.folders = 0
        self.servers = FakeServers(seed=1)
        self.lost: list[AnyNode] = []
        self.node = self.new_node()

    def start_node(self, folder: Path) -> AnyNode:
        """Return a node that has taken the shard over, with its files in the folder."""
        raise NotImplementedError

    def folder(self) -> Path:
        self.folders += 1
        folder = Path(self.scratch.name) / str(self.folders)
        folder.mkdir()
        return folder

    def new_node(self) -> AnyNode:
        try:
            return self.start_node(self.folder())
        except (EngineUnavailable, NoRoom):
            self.servers.faults.clear()
            return self.start_node(self.folder())

    @rule(faults=_FAULTS)
    def fail(self, faults: list[Fault | None]) -> None:
        self.servers.faults = faults

    @rule()
    def take_over(self) -> None:
        self.lost.append(self.node)
        self.node = self.new_node()

    def teardown(self) -> None:
        self.servers.faults.clear()
        self.take_over()
        for node in [self.node, *self.lost]:
            node.end()
        self.scratch.cleanup()
