"""Routes that wait for a storage: a thread runs the function, and the loop does the rest.

FastAPI gives a plain function two turns in a thread, one to run it and one to check what it returned.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool


class ThreadedRoute(APIRoute):
    """A route whose function takes one turn in a thread, unless it is a coroutine."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint if inspect.iscoroutinefunction(endpoint) else threaded(endpoint), **options)


def threaded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a coroutine that runs a function in a thread, with the function's signature."""

    @functools.wraps(function)
    async def run(*arguments: Any, **named: Any) -> Any:
        return await run_in_threadpool(function, *arguments, **named)

    run.__signature__ = inspect.signature(function, eval_str=True)  # type: ignore[attr-defined]
    return run
