"""``manage.py broker_dispatch --processes``: several processes run the handlers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
from django.conf import settings

from broker.models import Claim, ConnectionConsumer, Ready
from broker.monitoring import fsck
from broker.queueing.put import put_many
from tests.amqp.launching import database_url
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

ENDS_WITHIN_S = 60  # where much else goes on


@pytest.fixture
def dispatcher() -> Iterator[subprocess.Popen[str]]:
    """Two processes with one of the demonstration's handlers."""
    make_queue("parsed")
    command = ["broker_dispatch", "--processes=2", "--queue=parsed", "--concurrency=2"]
    environment = {"DATABASE_URL": database_url(), "BACKOUT_DEMO": "1"}
    with subprocess.Popen(
        [sys.executable, "manage.py", *command],
        cwd=settings.BASE_DIR,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.thorough
def test_processes_share_the_messages_and_one_that_dies_is_replaced(
    dispatcher: subprocess.Popen[str],
) -> None:
    parent = psutil.Process(dispatcher.pid)
    until(lambda: ConnectionConsumer.objects.count() == 2)
    assert {one.server_sessions for one in ConnectionConsumer.objects.all()} == {2}
    first = parent.children()
    # They are forks: none loads the project anew.
    assert [one.cmdline() for one in first] == [parent.cmdline()] * 2
    put_many(make_messages(20, address="parsed"))
    until(lambda: not Ready.objects.exists() and not Claim.objects.exists())

    first[0].kill()
    psutil.wait_procs(first[:1], timeout=ENDS_WITHIN_S)
    until(lambda: len(parent.children()) == 2)

    left = parent.children()
    dispatcher.terminate()
    assert dispatcher.wait(ENDS_WITHIN_S) == 0
    assert not [one for one in left if one.is_running()]
    assert fsck.violations() == []
