"""How the name of a queue, and a text of a client, stand in a URL.

A name may hold any character, also ``/``, and a proxy may decode, join or drop what is
percent-encoded. So every byte of its UTF-8 that is not a letter, a digit, or one of
``. _ -`` is written as ``~`` and two hexadecimal digits: ``eu/orders`` is
``eu~2Forders``. Each name has one spelling.
"""

from __future__ import annotations

import re
import string

PLAIN = frozenset((string.ascii_letters + string.digits + "._-").encode())
ESCAPED = re.compile(rb"~([0-9A-F]{2})")


class QueueName:
    regex = r"(?:[A-Za-z0-9._-]|~[0-9A-F]{2})+"

    def to_python(self, value: str) -> str:
        """The name.

        Raises:
            ValueError: no name is spelled so; for Django that is no such page.
        """
        name = ESCAPED.sub(
            lambda match: bytes.fromhex(match[1].decode()), value.encode()
        ).decode()
        if self.to_url(name) != value or "\0" in name:
            raise ValueError(f"{value} is not the spelling of a queue's name")
        return name

    def to_url(self, value: str) -> str:
        if value in (".", ".."):  # browsers take these for directions
            return value.replace(".", "~2E")
        return "".join(
            chr(byte) if byte in PLAIN else f"~{byte:02X}" for byte in value.encode()
        )


class TextConverter:
    """Whatever somebody wrote, also in several lines, as percent-encoding has it."""

    regex = r"(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
