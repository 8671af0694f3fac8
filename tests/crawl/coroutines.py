"""Decorators for tests that are coroutine functions."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec

from tests.crawl.jumping_clock import in_time

P = ParamSpec("P")
CoroutineTest = Callable[P, Coroutine[Any, Any, None]]


def in_loop(test: CoroutineTest[P]) -> Callable[P, None]:
    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def in_jumping_time(test: CoroutineTest[P]) -> Callable[P, None]:
    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        in_time(test(*args, **kwargs))

    return run
