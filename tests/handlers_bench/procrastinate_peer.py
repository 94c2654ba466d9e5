"""The same handler as a task of Procrastinate."""

from __future__ import annotations

import os

from procrastinate import App, PsycopgConnector

from tests.handlers_bench.work import note

app = App(connector=PsycopgConnector(conninfo=os.environ["DATABASE_URL"]))


@app.task(name="early", queue="bench")
async def early(sent: str) -> None:
    note(sent)
