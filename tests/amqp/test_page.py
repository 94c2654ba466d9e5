"""The programs of docs/amqp.md, as they stand there, but for where the listener is."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker.models import Ready
from broker.queueing.put import put
from tests.amqp.clients import rheas
from tests.amqp.listening import Listening
from tests.blocks.reading import PAGES, blocks
from tests.console.until import until
from tests.make import make_queue
from tests.tools import npm

pytestmark = pytest.mark.thorough

BLOCKS = blocks(PAGES["docs/amqp.md"])
PROGRAM = "page.cjs"


@pytest.fixture
def queues(transactional_db: None) -> dict[str, int]:
    """Those of the examples, by name."""
    return {name: make_queue(name).pk for name in ("orders", "answers")}


def of(kind: str, here: Listening) -> str:
    """The blocks of a language, one after the other."""
    text = "\n".join(text for one, text in BLOCKS if one == kind)
    user = here.user.username
    for written, meant in {
        "username: 'shop'": f"username: '{user}'",
        "shop:secret@": f"{user}:{here.password.replace(' ', '%20')}@",
        "localhost": here.host,
        "5672": str(here.port),
    }.items():
        text = text.replace(written, meant)
    return text


@contextmanager
def running(command: list[str], here: Listening, folder: Path) -> Iterator[None]:
    """A program that stays; what it says when it fails is the test's failure."""
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"SECRET": here.password},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield
        except AssertionError:
            process.kill()
            raise AssertionError(process.communicate()[1]) from None
        finally:
            process.kill()


def until_it_answers(queues: dict[str, int]) -> None:
    """The order is gone, and there is a reply."""
    until(Ready.objects.filter(queue_id=queues["answers"]).exists)
    until(lambda: not Ready.objects.filter(queue_id=queues["orders"]).exists())


def test_the_program_for_rhea_runs(here: Listening, queues: dict[str, int]) -> None:
    folder = rheas.prepared()
    (folder / PROGRAM).write_text(of("js", here))

    with running([str(npm.NODE), PROGRAM], here, folder):
        until_it_answers(queues)


def test_the_program_for_proton_runs(
    here: Listening, queues: dict[str, int], tmp_path: Path
) -> None:
    pytest.importorskip("proton", reason="python-qpid-proton is not installed")
    put("orders", b"seven apples")

    with running([sys.executable, "-c", of("python", here)], here, tmp_path):
        until_it_answers(queues)
