"""The blocks of docs/queues-as-code.md, in their order."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from django.core.management import CommandError

from broker.client import put
from broker.declarations import documents, plan
from broker.models import Discarded, Queue
from tests.broker.declarations.test_activemq import WHOLE as ACTIVEMQ
from tests.broker.declarations.test_converters import ARTEMIS, MQSC, RABBITMQ
from tests.console.commanding import refused, run

pytestmark = pytest.mark.django_db

PAGE = Path(__file__).resolve().parents[3] / "docs" / "queues-as-code.md"
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
FILES = {
    "definitions.json": json.dumps(RABBITMQ),
    "broker.xml": ARTEMIS,
    "activemq.xml": ACTIVEMQ,
    "queues.mqsc": MQSC,
}
CODES = {"--plan": 4}  # exit code of a command with this option


def test_each_block_does_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    kinds = [kind for kind, _ in BLOCKS]
    assert kinds == ["toml", "", "toml", "", "", "python", ""]
    file = tmp_path / "backout.toml"
    said: list[str] = []

    for kind, block in BLOCKS:
        if kind == "toml":
            file.write_text(block)
            documents.read(block)
        elif kind == "python":
            exec(block, {})
        else:
            for line in block.splitlines():
                said.append(told(line))
                if line.endswith('DLQ --redelivery-delay "10 min"'):
                    put("payments")

    assert said[2] == "There is nothing to change.\n"
    exported = documents.read(said[3])[0]
    assert any(one.key == ("orders.BOQ",) for one in exported)
    for converted in said[-3:]:
        assert plan(documents.read(converted)[0]).changes
    assert Discarded.objects.get().queue == "payments"
    assert Queue.objects.get(name="orders").max_depth == 5000


def told(line: str) -> str:
    """What a line of the page says; it exits as it should."""
    words = shlex.split(line)
    assert words[:2] == ["manage.py", "backout"]
    expected = next((code for word, code in CODES.items() if word in words), 0)
    if not expected:
        return str(run(*words[2:]))
    with pytest.raises(CommandError) as ended:
        run(*words[2:])
    assert ended.value.returncode == expected
    return ""


def test_convert_says_what_it_did_and_refuses_what_is_of_no_form(
    tmp_path: Path,
) -> None:
    (tmp_path / "queues.mqsc").write_text(MQSC)
    (tmp_path / "pom.xml").write_text("<project/>")

    said = run("convert", "mqsc", tmp_path / "queues.mqsc")
    code, refusal = refused("convert", "artemis", tmp_path / "pom.xml")

    assert said.errors.endswith("as by default. 8 objects made.\n")
    assert said.errors.strip() in said
    assert code == 1
    assert "its root is <project>" in refusal
