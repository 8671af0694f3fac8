"""Coroutine tests: an `async def` test runs in an event loop of its own, within `_PATIENCE_S`."""

import asyncio
from inspect import iscoroutinefunction

import pytest

_PATIENCE_S = 300  # a hanging test must fail, a busy machine must not


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    test = pyfuncitem.obj
    if not iscoroutinefunction(test):
        return None
    # As pytest itself calls a test.
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    async def bounded() -> None:
        async with asyncio.timeout(_PATIENCE_S):
            await test(**arguments)

    asyncio.run(bounded())
    return True
