"""URL converters for queue names and other text.

A name may contain any character, also ``/``, and proxies may decode, join or drop
percent-encoded characters. Each byte of UTF-8 other than a letter, a digit or one of
``. _ -`` is therefore written as ``~`` and two hexadecimal digits: ``eu/orders`` is
``eu~2Forders``. Each name has exactly one spelling.
"""

from __future__ import annotations

import re
import string

PLAIN = frozenset((string.ascii_letters + string.digits + "._-").encode())
ESCAPED = re.compile(rb"~([0-9A-F]{2})")


class QueueName:
    regex = r"(?:[A-Za-z0-9._-]|~[0-9A-F]{2})+"

    def to_python(self, value: str) -> str:
        """The decoded name.

        Raises:
            ValueError: not a valid spelling; Django answers 404.
        """
        name = ESCAPED.sub(
            lambda match: bytes.fromhex(match[1].decode()), value.encode()
        ).decode()
        if self.to_url(name) != value or "\0" in name:
            raise ValueError(f"{value} is not the spelling of a queue's name")
        return name

    def to_url(self, value: str) -> str:
        if value in (".", ".."):  # browsers resolve these path segments
            return value.replace(".", "~2E")
        return "".join(
            chr(byte) if byte in PLAIN else f"~{byte:02X}" for byte in value.encode()
        )


class TextConverter:
    """Any text, percent-encoded, also with line breaks."""

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
