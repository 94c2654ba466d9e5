"""The console's application, which also tells how often it asked the database."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from broker import sql
from console.asgi import application as pages

PATH = "/counted/"
asked = 0


def count(execute: Callable[..., Any], *statement: Any) -> Any:
    global asked  # noqa: PLW0603  one number for one process
    asked += 1
    return execute(*statement)


def counting(run: Callable[..., Any]) -> Callable[..., Any]:
    """The broker's own statements go past Django."""

    def counted(*statement: Any) -> Any:
        return count(run, *statement)

    return counted


def watch(connection: BaseDatabaseWrapper, **_: object) -> None:
    if count not in connection.execute_wrappers:
        connection.execute_wrappers.append(count)


async def application(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] != "http" or scope["path"] != PATH:
        await pages(scope, receive, send)
        return
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": json.dumps(asked).encode()})


connection_created.connect(watch)
sql.run, sql.ask = counting(sql.run), counting(sql.ask)
