"""Program that starts a server in a folder, prints its process id, and waits to be killed."""

import asyncio
import sys
from pathlib import Path

from minicrawl.cluster.servers import local_servers


async def main(folder: Path) -> None:
    async with local_servers(folder, 1) as servers:
        print(servers.servers[0].pid, flush=True)  # noqa: T201  # the test reads the output
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
