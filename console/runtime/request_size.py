"""The limit on the size of a request, before it is read.

Django checks the size of a body once it is stored, and of uploaded files not at all.
Here a request above ``DATA_UPLOAD_MAX_MEMORY_SIZE`` is refused by its declared length.
One that declares none is cut off at the limit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler

LENGTH = b"content-length"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class UploadLimit(FileUploadHandler):
    """Refuses a form with files by its length; other handlers store the files."""

    def handle_raw_input(
        self,
        input_data: Any,
        META: dict[str, Any],  # noqa: N803  # Django's name
        content_length: int,
        boundary: str,
        encoding: str | None = None,
    ) -> None:
        """
        Raises:
            RequestDataTooBig: nothing of it was read.
        """
        if content_length > most():
            raise RequestDataTooBig("The form with its files is too large.")

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """Leave the file to the other handlers."""


class BoundedRequest:
    """A request of ASGI whose body is not read beyond the limit.

    Above the limit Django gets no more of the body, but its length, for which it
    refuses the request. What the client still sends meanwhile is dropped.
    """

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self.scope = {**scope}
        self.receive_next = receive
        self.read = 0  # bytes of the body that were read
        self.is_cut = declared(scope) > most()
        self.is_over = False  # Django has been told that the body ends

    async def receive(self) -> dict[str, Any]:
        if self.is_cut:
            return await self.cut()
        message = await self.receive_next()
        self.read += len(message.get("body", b""))
        if self.read <= most():
            return message
        others = [one for one in self.scope["headers"] if one[0] != LENGTH]
        self.scope["headers"] = [*others, (LENGTH, b"%d" % self.read)]
        self.is_cut = True
        return await self.cut()

    async def cut(self) -> dict[str, Any]:
        """The end of the body; then nothing until the client is gone."""
        if not self.is_over:
            self.is_over = True
            return {"type": "http.request", "body": b"", "more_body": False}
        while True:
            message = await self.receive_next()
            if message["type"] != "http.request":
                return message


def most() -> int:
    """The largest request, in bytes."""
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def declared(scope: Scope) -> int:
    """The length that a request declares; 0 if none, or no number."""
    for name, value in scope["headers"]:
        if name == LENGTH and value.isdigit():
            return int(value)
    return 0
