"""Where the blocks of one page run, one after the other."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from django.test import Client
from pytest_django import Settings

from broker.models import Message


@dataclass
class Place:
    """A folder, an administrator's browser, and what Python's blocks share."""

    folder: Path
    client: Client
    settings: Settings
    module: ModuleType
    shell: dict[str, str] = field(default_factory=dict)  # variables
    said: list[str] = field(default_factory=list)  # by the commands of the block

    @property
    def names(self) -> dict[str, Any]:
        return self.module.__dict__

    def execute(self, text: str) -> None:
        exec(compile(text, self.module.__name__, "exec"), self.names)

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Any:
        answer = self.client.generic(
            method, path, body, content_type="application/json", headers=headers
        )
        assert answer.status_code < 300, (method, path, body, answer.content)
        return json.loads(answer.content or "null")

    def newest(self) -> int:
        """The number of the message that was put last."""
        return Message.objects.latest("pk").pk


def shows(shown: str, answer: Any) -> None:
    """Each name that a page shows of an answer is in it."""
    told = set(re.findall(r'"(\w+)":', json.dumps(answer)))
    assert set(re.findall(r'"(\w+)":', shown)) <= told, (shown, answer)
