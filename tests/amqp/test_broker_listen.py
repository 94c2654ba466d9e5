"""``manage.py broker_listen`` as a person, and systemd, meet it."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import psutil
import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from broker.amqp import ports
from broker.amqp.ports import url
from broker.amqp.protocol import conditions
from broker.amqp.protocol.events import Begun
from broker.models import ClientConnection
from tests.amqp import launching
from tests.amqp.certifying import Certified
from tests.amqp.launching import HOST, Process
from tests.amqp.listening import PASSWORD, Wire
from tests.console.until import until

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.thorough]

ENDS_WITHIN_S = 60  # where much else goes on


def test_a_listener_says_where_it_is_and_leaves_when_told() -> None:
    with running("--port=0") as launched:
        client = launched.connect()
        launched.process.terminate()

        error = client.closed().error
        assert error is not None
        assert error.condition == conditions.CONNECTION_FORCED
        client.socket.close()
        assert launched.process.wait(ENDS_WITHIN_S) == 0
    assert not ClientConnection.objects.exists()


def test_the_next_port_is_taken_where_nobody_named_one() -> None:
    with neighbours() as (taken, free):
        settled = {"BROKER_AMQP_PORT": str(taken.getsockname()[1])}
        with (
            pytest.raises(AssertionError, match="is in use"),
            running("--processes=1", **settled),
        ):
            pass
        port = taken.getsockname()[1]
        assert ports.free(HOST, port, is_fixed=False) == free


@pytest.mark.parametrize("host", ["127.0.0.1", "", "0.0.0.0", "::1", "localhost"])
def test_a_port_is_found_on_every_kind_of_host(host: str) -> None:
    assert ports.free(host, 0, is_fixed=True) > 0


def test_a_host_that_is_not_here_is_an_error() -> None:
    with pytest.raises(OSError, match="in use, or needs more rights"):
        ports.free("192.0.2.7", 0, is_fixed=True)


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "amqp://127.0.0.1:1"),
        ("0.0.0.0", "amqp://127.0.0.1:1"),
        ("", "amqp://127.0.0.1:1"),
        ("::", "amqp://[::1]:1"),
        ("broker.example.org", "amqp://broker.example.org:1"),
    ],
)
def test_what_is_told_can_be_connected_to(host: str, shown: str) -> None:
    assert url("amqp", host, 1) == shown


def test_a_listener_with_a_certificate_speaks_tls(certified: Certified) -> None:
    tls_port = ports.free(HOST, 0, is_fixed=True)
    given = {
        "BROKER_AMQP_CERTIFICATE": str(certified.server.certificate),
        "BROKER_AMQP_KEY": str(certified.server.key),
    }
    with running("--port=0", f"--tls-port={tls_port}", **given) as launched:
        client = launched.dial(tls_port)
        client.socket = certified.context().wrap_socket(
            client.socket, server_hostname="localhost"
        )
        log_in(client)
        client.close()
        assert f"amqps://127.0.0.1:{tls_port}" in launched.listener.said()


def test_a_certificate_that_is_not_there_is_named() -> None:
    given = {"BROKER_AMQP_CERTIFICATE": "/missing.pem"}
    with pytest.raises(AssertionError, match="No such file"), running(**given):
        pass


def test_processes_share_a_port_and_one_that_dies_is_replaced() -> None:
    with running("--port=0", "--processes=2") as launched:
        rows = ClientConnection.objects.values_list("owner_id", flat=True)
        first = launched.until_there_are(2)

        def both_have_one() -> bool:
            launched.connect()
            return len(set(rows.all())) == 2

        until(both_have_one)

        first[0].kill()
        second = launched.until_there_are(2, but=first[0])
        assert first[1] in second
        launched.connect()

        launched.process.terminate()
        assert launched.process.wait(ENDS_WITHIN_S) == 0
    assert not [one for one in (*first, *second) if one.is_running()]


def test_processes_without_the_one_that_started_them_leave() -> None:
    with running("--port=0", "--processes=2") as launched:
        left = launched.until_there_are(2)
        launched.process.kill()
        launched.process.wait()

        assert not psutil.wait_procs(left, timeout=ENDS_WITHIN_S)[1]


class Launched:
    """A process that listens, and its clients."""

    def __init__(self, listener: Process) -> None:
        self.listener = listener
        self.process = listener.process
        self.wires: list[Wire] = []

    def dial(self, port: int) -> Wire:
        wire = Wire(socket.create_connection((HOST, port), timeout=10))
        self.wires.append(wire)
        return wire

    def connect(self) -> Wire:
        return log_in(self.dial(self.listener.port))

    def until_there_are(
        self, count: int, *, but: psutil.Process | None = None
    ) -> list[psutil.Process]:
        """The processes of several, as soon as all of them listen."""
        deadline = time.monotonic() + launching.STARTS_WITHIN_S
        while True:
            children = psutil.Process(self.process.pid).children()
            found = [one for one in children if one != but and listens(one)]
            if len(found) >= count:
                return found
            assert time.monotonic() < deadline, f"there are {found}"
            time.sleep(0.1)


def listens(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):  # it has just ended
        return any(one.status == "LISTEN" for one in process.net_connections())
    return False


def log_in(client: Wire) -> Wire:
    client.log_in(user="amelia", password=PASSWORD, container_id="")
    client.connection.begin()
    client.expect(Begun)
    return client


@contextmanager
def neighbours() -> Iterator[tuple[socket.socket, int]]:
    """A port that is taken, and the next, which is free."""
    while True:
        with socket.create_server((HOST, 0)) as taken:
            after = taken.getsockname()[1] + 1
            try:
                assert ports.free(HOST, after, is_fixed=True) == after
            except (ports.PortTaken, OverflowError):
                continue
            yield taken, after
            return


@contextmanager
def running(*options: str, **environment: str) -> Iterator[Launched]:
    """The command, on the database of the test, once it has said where it is.

    Raises:
        AssertionError: with what it said, if it ends instead.
    """
    User.objects.filter(username="amelia").delete()
    slow = make_password(PASSWORD, hasher="argon2")  # as it is outside of tests
    User.objects.create(username="amelia", is_superuser=True, password=slow)
    with (
        NamedTemporaryFile() as log,
        launching.launched(Path(log.name), *options, **environment) as listener,
    ):
        launched = Launched(listener)
        try:
            yield launched
        finally:
            for wire in launched.wires:
                wire.socket.close()
