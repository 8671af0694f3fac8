"""Requests to a dashboard in this process, without a network."""

import asyncio
from typing import Any

import httpx

from minicrawl.dashboard.serving import Dashboard, DashboardAccess
from minicrawl.dashboard.views import Views
from tests.processes import PATIENCE_S

ACCESS = DashboardAccess(port=8420, names=frozenset(("127.0.0.1", "crawler.lan")), token="t" * 32)


def client_of(views: Views) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(Dashboard(views, ACCESS).app())
    base = f"http://127.0.0.1:{ACCESS.port}/"
    return httpx.AsyncClient(transport=transport, base_url=base, timeout=PATIENCE_S)


def asked(views: Views, method: str, path: str, **request: Any) -> httpx.Response:
    async def ask() -> httpx.Response:
        async with client_of(views) as client:
            return await client.request(method, path, **request)

    return asyncio.run(ask())
