"""Messages out to a file and in from one, by the command line."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from broker.models import Message
from broker.queueing.put import put as send
from broker.queueing.put import put_many
from tests.console.commanding import refused, run, told
from tests.make import make_messages, make_queue, make_user

pytestmark = pytest.mark.django_db

HOSTILE = {
    "text": b"plain",
    "empty": b"",
    "every byte": bytes(range(256)),
    "nul": b"a\0b",
    "lines": "é\u2028\r\n".encode(),
}


def fields_of(row: Message) -> dict[str, Any]:
    """All that a message has, but for its number and when it was put."""
    names = {field.name for field in Message._meta.get_fields()}
    values = {name: getattr(row, name) for name in names - {"id", "put_at"}}
    return {
        name: bytes(value) if isinstance(value, memoryview) else value
        for name, value in values.items()
    }


def test_messages_go_out_and_come_back_to_the_byte(tmp_path: Path) -> None:
    make_queue("orders")
    for name, body in HOSTILE.items():
        send(
            "orders",
            body,
            content_type="application/x-any",
            properties={"name": name, "n": 1, "f": 0.1, "none": None, "list": [1]},
            priority=4,
            durable=name != "nul",
            message_id=f"ID:{name}",
            correlation_id="c",
            reply_to="r",
            subject="s",
            group_id="g",
            producer="p",
            descriptor={"format": "MQSTR"},
            headers=bytes(range(40)),
            envelope=bytes(range(200, 256)),
        )
    before = [fields_of(one) for one in Message.objects.order_by("pk")]
    file, again = tmp_path / "out.ndjson", tmp_path / "again.ndjson"

    assert told("messages", "export", "-f", "queue:orders", "--to", file) == {
        "messages": 5,
        "file": str(file),
    }
    assert len(file.read_bytes().splitlines()) == 5
    assert refused("messages", "export", "-f", "queue:orders", "--to", file)[0] == 1
    look = told("messages", "import", file)
    assert look == {"messages": 5, "to": ["orders"], "put": 0}
    assert Message.objects.count() == 5
    run("get", "orders", "--limit", 5, "--yes")
    assert told("messages", "import", file, "--yes")["put"] == 5

    rows = Message.objects.order_by("pk")[5:]
    assert [fields_of(one) for one in rows] == before
    run("messages", "export", "-f", "queue:orders", "--to", again)
    lines = [one.read_bytes().splitlines() for one in (file, again)]
    assert list(map(without_seen, lines[0])) == list(map(without_seen, lines[1]))


class Terminal(StringIO):
    """Where somebody looks."""

    def isatty(self) -> bool:
        return True


def test_how_far_it_is_is_shown_where_somebody_looks(tmp_path: Path) -> None:
    make_queue("orders")
    put_many(make_messages(3))

    said = []
    for name, errors in (("a", Terminal()), ("b", StringIO())):
        arguments = ["-f", "queue:orders", "--to", str(tmp_path / name), "--json"]
        out = StringIO()
        call_command(
            "backout", "messages", "export", *arguments, stdout=out, stderr=errors
        )
        assert json.loads(out.getvalue())["messages"] == 3
        said.append(errors.getvalue())

    assert "Writing" in said[0]
    assert "3/3" in said[0]
    assert said[1] == ""


def without_seen(line: bytes) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(line)
    assert said.pop("seen")["queue"] == "orders"
    return said


def test_messages_are_put_on_another_address(tmp_path: Path) -> None:
    make_queue("orders")
    make_queue("copy")
    put_many(make_messages(450))
    file = tmp_path / "out"
    run("messages", "export", "-f", "queue:orders", "--to", file)

    run("messages", "import", file, "--to", "copy", "--yes")

    copied = Message.objects.filter(address="copy").order_by("pk")
    assert [int(bytes(one.body)) for one in copied] == list(range(1, 451))


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        '{"format": "backout-message/1", "text": "x"}',
        '{"format": "backout-message/1", "address": "orders"}',
        '{"format": "backout-message/1", "address": "orders", "base64": "!"}',
        '{"format": "backout-message/1", "address": "orders", "text": "", "more": 1}',
        '{"format": "backout-message/1", "address": "orders", "text": "",'
        ' "priority": 10}',
        '{"format": "backout-message/1", "address": "orders", "text": "",'
        ' "durable": 1}',
        '{"format": "backout-message/1", "address": "orders", "text": "",'
        ' "expires_at": "2030-01-01"}',
    ],
)
def test_a_file_with_a_line_that_is_no_message_is_not_begun(
    tmp_path: Path, line: str
) -> None:
    make_queue("orders")
    good = '{"format": "backout-message/1", "address": "orders", "text": "fine"}'
    file = tmp_path / "in"
    file.write_text(f"{good}\n{line}\n")

    code, why = refused("messages", "import", file, "--yes")

    assert code == 1
    assert "line 2" in why
    assert not Message.objects.exists()


def test_messages_are_for_who_may_browse_and_put(tmp_path: Path) -> None:
    make_queue("orders")
    send("orders", b"secret")
    make_user("vera", permissions=("broker.view_queue",))
    make_user("ed", permissions=("broker.browse_queue",), granted=("inquire",))
    make_user(
        "olga", permissions=("broker.browse_queue",), granted=("inquire", "browse")
    )
    file = tmp_path / "out"
    export = ("messages", "export", "-f", "queue:orders", "--to", file, "--user")

    assert refused(*export, "vera")[0] == 1
    assert refused(*export, "ed")[0] == 3
    assert not file.exists()
    run(*export, "olga")
    assert refused("messages", "import", file, "--yes", "--user", "olga")[0] == 1
    assert Message.objects.count() == 1
