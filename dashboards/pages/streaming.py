"""Files that are sent while they are written, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, chunks: Iterator[bytes], headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """An answer of pieces, which a server of either kind sends one by one."""
    content: Iterable[bytes] | AsyncIterable[bytes] = chunks
    if isinstance(request, ASGIRequest):
        content = in_turns(chunks)
    return StreamingHttpResponse(content, headers=dict(headers))


async def in_turns(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """One after the other, each on the thread of its request; the loop goes on."""

    def following() -> bytes | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(following)()) is not None:
        yield chunk
