"""The channel layer, as it is set up: it waits without end, and stops when told to."""

from __future__ import annotations

import asyncio

import pytest
from channels.layers import get_channel_layer

LONGER_S = 5.5  # than the client of Redis and the layer wait for one answer
STEPS = 40  # of the event loop, which a receive takes at most until it waits


@pytest.mark.thorough
@pytest.mark.usefixtures("redis")
async def test_where_nothing_is_published_a_page_goes_on_waiting() -> None:
    layer = get_channel_layer()
    name = await layer.new_channel()
    waiting = asyncio.create_task(layer.receive(name))

    done, _ = await asyncio.wait([waiting], timeout=LONGER_S)

    assert not done
    await layer.send(name, {"type": "news"})
    assert await waiting == {"type": "news"}


@pytest.mark.usefixtures("redis")
@pytest.mark.parametrize("steps", range(STEPS))
async def test_whenever_a_page_leaves_nobody_waits_for_it(steps: int) -> None:
    layer = get_channel_layer()
    name = await layer.new_channel()
    await layer.send("another", {})  # connects
    waiting = asyncio.create_task(layer.receive(name))
    for _ in range(steps):
        await asyncio.sleep(0)

    waiting.cancel()

    done, _ = await asyncio.wait([waiting], timeout=2)
    assert done
