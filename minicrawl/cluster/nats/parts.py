"""What the parts of the engine share."""

from minicrawl.cluster.nats.asking import Asking
from minicrawl.cluster.nats.streams import Streams


class NatsPart:
    """A part of the engine: it asks servers about the streams of one crawl."""

    def __init__(self, asking: Asking, streams: Streams) -> None:
        self._asking, self._streams = asking, streams
