"""Requests to dashboards: to one in this process without a network, or to a process."""

import asyncio
from typing import Any

import httpx

from minicrawl.dashboard.access import TOKEN_HEADER, DashboardAccess
from minicrawl.dashboard.routes import Dashboard
from minicrawl.dashboard.views import Views
from tests.dashboard.servers import RunningDashboard
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


def get(served: RunningDashboard, path: str, **headers: str) -> httpx.Response:
    """Get a path below the address, with the token unless `headers` have another one."""
    named = {TOKEN_HEADER: served.token} | headers
    return httpx.get(served.base + path, headers=named, trust_env=False, timeout=PATIENCE_S)


def post(served: RunningDashboard, path: str, body: object, **headers: str) -> httpx.Response:
    named = {TOKEN_HEADER: served.token} | headers
    url = served.base + path
    return httpx.post(url, json=body, headers=named, trust_env=False, timeout=PATIENCE_S)
