"""Files that are too large are refused by commands without being read whole."""

from __future__ import annotations

import io
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from broker.models import Message
from console.messages import importing
from tests.console.commanding import refused, run
from tests.make import make_queue

pytestmark = pytest.mark.django_db

GIGABYTE = 2**30
MOST = 2**21  # bytes that may be read


class Bounded(io.FileIO):
    """A file of which no more than some bytes may be read."""

    def readinto(self, buffer: Any) -> int:
        assert self.tell() <= MOST, "it is read whole"
        return super().readinto(buffer) or 0

    def readall(self) -> bytes:
        raise AssertionError("it is read whole")


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of a gigabyte, without line ends."""
    file = tmp_path / "large"
    with file.open("wb") as made:
        made.write(b"{")
        made.truncate(GIGABYTE)

    whole = Path.open

    def opened(path: Path, *how: Any, **options: Any) -> Any:
        if path == file:
            return io.BufferedReader(Bounded(path), 2**16)
        return whole(path, *how, **options)

    monkeypatch.setattr(Path, "open", opened)
    return file


@pytest.mark.parametrize(
    "command", [("settings", "import"), ("bridge", "import")], ids=lambda one: one[0]
)
def test_a_document_of_a_gigabyte_is_refused(
    large: Path, command: tuple[str, str]
) -> None:
    code, why = refused(*command, large)

    assert code == 1
    assert "It is above 1 MiB." in why


def test_settings_of_a_gigabyte_are_refused_from_a_file_and_from_standard_input(
    large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with large.open("rb") as body:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=body))
        for file in (str(large), "-"):
            with pytest.raises(CommandError, match="It is above 1 MiB"):
                call_command("broker_settings", "import", file, stdout=StringIO())


def test_a_body_of_a_gigabyte_is_refused_by_its_size(
    large: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 2**20
    make_queue("orders")

    code, why = refused("put", "orders", "--file", large)

    assert code == 1
    assert "The body has 1,073,741,824 bytes; at most 1,048,576 are allowed" in why
    with large.open("rb") as body:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=body))
        assert refused("put", "orders", "-")[0] == 1
    assert not Message.objects.exists()


def test_a_line_of_a_gigabyte_is_refused(
    large: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 1000
    monkeypatch.setattr(importing, "ALL_ELSE", 1000)
    make_queue("orders")

    code, why = refused("messages", "import", large, "--yes")

    assert code == 1
    assert "line 1 is longer than 7,000 bytes" in why


def test_the_longest_body_fits_into_a_line(tmp_path: Path, settings: Any) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 1000
    make_queue("orders")
    body = bytes(1000)
    (tmp_path / "body").write_bytes(body)
    run("put", "orders", "--file", tmp_path / "body")

    run("messages", "export", "-f", "queue:orders", "--to", tmp_path / "out")
    run("messages", "import", tmp_path / "out", "--yes")

    assert [bytes(one.body) for one in Message.objects.all()] == [body, body]
