"""Responses that are streamed in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse


def streamed(
    request: HttpRequest, chunks: Iterator[bytes], headers: Mapping[str, str]
) -> StreamingHttpResponse:
    """A streaming response that works under ASGI and WSGI."""
    content: Iterable[bytes] | AsyncIterable[bytes] = chunks
    if isinstance(request, ASGIRequest):
        content = in_turns(chunks)
    return StreamingHttpResponse(content, headers=dict(headers))


async def in_turns(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, each produced in the request's thread, without blocking the event
    loop.
    """

    def following() -> bytes | None:
        return next(chunks, None)

    while (chunk := await sync_to_async(following)()) is not None:
        yield chunk
