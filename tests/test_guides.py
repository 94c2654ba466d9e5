"""The blocks of the guides for people from other systems do what the guides say."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from django.core.management import CommandError

from broker.client import unit_of_work
from broker.client.dispatch import handlers
from broker.declarations import apply, converters, documents, plan, read
from tests.blocks.reading import blocks
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT
from tests.broker.declarations.test_activemq import WHOLE as ACTIVEMQ
from tests.broker.declarations.test_converters import ARTEMIS, MQSC, RABBITMQ
from tests.console.commanding import run

pytestmark = pytest.mark.django_db

DOCS = Path(__file__).resolve().parent.parent / "docs"
FILES = {
    "definitions.json": json.dumps(RABBITMQ),
    "broker.xml": ARTEMIS,
    "activemq.xml": ACTIVEMQ,
    "queues.mqsc": MQSC,
    "shops.xml": DOCUMENT,
}
OTHERS = ("rabbitmqctl", "imqcmd")  # commands that belong to another product
SHOWN = {  # what our blocks print, and how many of them run
    "celery": (3, ["Booked for customer 7"]),
    "rabbitmq": (2, ["Got {}"]),
    "artemis": (2, ["Booked seven apples"]),
    "activemq": (2, []),
    "ibm-mq": (
        4,
        [
            *(f"Backout count {count}" for count in range(3)),
            "On the backout queue: seven apples",
        ],
    ),
    "open-mq": (3, ["Got seven apples"]),
}


def test_each_guide_is_run() -> None:
    pages = {one.stem for one in (DOCS / "coming-from").glob("*.md")}
    assert pages == set(SHOWN)


@pytest.mark.parametrize("page", SHOWN)
def test_the_blocks_of_a_guide_run(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(handlers, "HANDLERS", {})
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    ran = 0

    for kind, block in blocks(DOCS / "coming-from" / f"{page}.md"):
        if kind == "python":
            exec(compile(block, page, "exec"), {})
            ran += 1
        elif kind == "py":  # a program for the other product
            compile(block, page, "exec")
        elif kind == "toml":
            declared, _ = documents.read(block)
            apply(plan(declared))
            ran += 1
        elif kind == "mqsc":  # the file that follows declares the same
            declared, _ = read(converters.convert("mqsc", block.encode(), source=page))
            apply(plan(declared))
            ran += 1
        elif not kind:
            ran += sum(map(command, block.splitlines())) > 0

    work_off()
    expected, printed = SHOWN[page]
    assert capsys.readouterr().out.splitlines() == printed
    assert ran == expected


def command(line: str) -> bool:
    """Run a line of a page; whether it is one of ours."""
    if line.startswith(OTHERS):
        return False
    wanted, _, file = line.partition(" > ")
    words = shlex.split(wanted)
    assert words[:2] == ["manage.py", "backout"], line
    if "--plan" in words:
        with pytest.raises(CommandError) as ended:
            run(*words[2:])
        assert ended.value.returncode == 4, line
    else:
        said = run(*words[2:])
        assert said, line
        if file:
            Path(file).write_text(said)
    return True


def work_off() -> None:
    """Let the handlers of a page process what its other blocks have put."""
    for (queue, _), handler in handlers.HANDLERS.items():
        with unit_of_work() as work:
            (delivery,) = work.get(queue, limit=10)
            handler.handle(delivery, work)
