"""Web archives and pictures of a cluster are those of a crawl on one machine."""

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Crawl, Loaded
from minicrawl.demo.server import DemoServer
from minicrawl.store.records import NOT_DRAWN, NOT_RENDERED
from tests.cluster.engines import needs_server
from tests.cluster.logged_web import SITES, LoggedWeb, begun, settings
from tests.cluster.node_process import NodeProcess, nodes, shards_of, until, until_ended
from tests.crawl.rendering.sites import needs_browser
from tests.crawl.settle.test_earlier_archive import EARLY, EARLY_DATE

archiveiterator = pytest.importorskip("warcio.archiveiterator")
pytestmark = [needs_server, pytest.mark.slow, pytest.mark.anyio, pytest.mark.timeout(600)]

SEEDS = [f"http://s{site}.example/1" for site in range(SITES)]


def quick(address: str, **more: Any) -> Loaded:
    return settings(address, **{"delay": 0, "keep": "pages", "converge": False, **more})


async def run(folder: Path, *command: str, code: int = 0) -> str:
    """Run a command in a folder, and return its stdout."""
    started = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "minicrawl", *command), cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await started.communicate()
    assert started.returncode == code
    return out.decode()


def kinds_of(*files: Path) -> dict[str, set[tuple[str, str | None]]]:
    """Return kind and date of the original of each response with a page, by URL."""
    kinds: dict[str, set[tuple[str, str | None]]] = {}
    for file in files:
        with file.open("rb") as raw:
            for record in archiveiterator.ArchiveIterator(raw, check_digests="raise"):
                head = record.rec_headers
                url = head.get_header("WARC-Target-URI")
                if record.rec_type in ("response", "revisit") and "robots.txt" not in url:
                    date = head.get_header("WARC-Refers-To-Date")
                    kinds.setdefault(url, set()).add((record.rec_type, date))
    return kinds


async def test_shards_refer_to_earlier_archives_and_tell_what_was_saved(tmp_path: Path) -> None:
    web, earlier, warcs = LoggedWeb(), tmp_path / "earlier", tmp_path / "warcs"
    web.pages = 4
    with DemoServer(web) as server:
        alone = quick(server.address, store=tmp_path / "alone.db", warc=earlier)
        await asyncio.to_thread(Crawl(SEEDS, alone).run)
    (index,) = earlier.glob("*.cdxj")
    index.write_text(re.sub(r"(?m)^(\S+) \d{14}", rf"\1 {EARLY}", index.read_text()))
    web.asked.clear()
    async with begun(tmp_path, web, quick, 2) as (servers, engine, loaded):
        nowhere = tmp_path / "nowhere"
        refused = NodeProcess(
            *(servers.url, "b", tmp_path), ("--warc", str(warcs), "--dedupe-with", str(nowhere))
        )
        assert await asyncio.to_thread(refused.process.wait) == 2
        assert f"{nowhere}: No such file" in refused.said
        assert not web.asked
        keeps = ("--warc", str(warcs), "--dedupe-with", str(earlier))
        async with nodes({"a": servers.url}, tmp_path, loaded, {"a": keeps}) as started:
            await until_ended(engine)
            await until(engine, lambda now: not shards_of(now, "a"), "the node holds shards")
        assert started["a"].said.count("earlier captures") == 1
        into = ("cluster", "gather", "all.db", "--cluster", servers.url)
        await run(tmp_path, *into, "--dedupe-with", str(nowhere), code=2)
        await run(tmp_path, *into, "--dedupe-with", str(earlier))
    await run(tmp_path, "export", "site.warc.gz", "--store", "all.db")
    for files in ([*warcs.glob("*.warc.gz")], [tmp_path / "site.warc.gz"]):
        kinds = kinds_of(*files)
        read = {url for url in kinds if int(url.rpartition("/")[2]) < web.pages}
        assert read == web.urls
        assert {kind for url in read for kind in kinds[url]} == {("revisit", EARLY_DATE)}
    stored = json.loads(await run(tmp_path, "status", "--stored", "--json", "--store", "all.db"))
    (saved,) = [part for part in stored["stored"] if part["part"] == "saved in WARC files"]
    assert saved["number"] >= len(web.urls)
    assert saved["bytes"] > len(web.urls) * len("<p>")


@needs_browser
async def test_pictures_arrive_with_the_gathered_store(tmp_path: Path) -> None:
    draws = ("--keep", "pages", "--render", "always", "--screenshots")
    few = ("--shards", "2", "--pages", "6")
    await run(tmp_path, "crawl", "--cluster", "demo", "--demo-pages", "100", *few, *draws)
    store = ("--store", "data/demo-cluster.db")
    rows = await run(tmp_path, "pages", "--state", "fetched", "--json", *store)
    urls = [row["url"] for row in json.loads(rows)]
    drawn = 0
    for number, url in enumerate(urls):
        facts = json.loads(await run(tmp_path, "explain", url, "--json", *store))
        # A machine under load may have no time to draw a page.
        is_drawn = not facts["fetches"][0]["detail"].startswith((NOT_RENDERED, NOT_DRAWN))
        file, drawn = tmp_path / f"{number}.png", drawn + is_drawn
        await run(tmp_path, "page", url, "--screenshot", str(file), *store, code=2 - 2 * is_drawn)
        assert not is_drawn or file.read_bytes().startswith(b"\x89PNG")
    assert drawn
