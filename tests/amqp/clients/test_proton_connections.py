"""How proton connects, stays, is refused, gets stuck, and connects anew."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from broker.models import Claim, Ready
from broker.queueing.put import NewMessage, put_many
from tests.amqp.certifying import Certified
from tests.amqp.clients.protons import connected, proton, reactor
from tests.amqp.listening import Listening, listener
from tests.console.until import until

needs_tls = pytest.mark.skipif(
    not proton.SSL.present(), reason="this build of proton has no TLS"
)


def refused(here: Listening, **options: Any) -> str:
    """What proton is told when it is not let in."""
    with pytest.raises(proton.ProtonException) as refusal, connected(here, **options):
        pass
    return str(refusal.value)


@pytest.mark.case(24)
def test_a_wrong_password_is_refused(here: Listening) -> None:
    assert "unauthorized" in refused(here, password="wrong")


@pytest.mark.case(24)
def test_nobody_is_refused(here: Listening) -> None:
    assert "mech" in refused(here, allowed_mechs="ANONYMOUS", user=None, password=None)


@needs_tls
@pytest.mark.case(24)
def test_a_password_over_tls(transactional_db: None, certified: Certified) -> None:
    with listener(certificates=certified.server) as here:
        options = over_tls(here, certified)
        with connected(here, **options, allow_insecure_mechs=False) as client:
            client.put("secret")
            assert client.seen() == ["secret"]


@needs_tls
@pytest.mark.case(24)
def test_a_certificate_is_a_login(transactional_db: None, certified: Certified) -> None:
    with listener(certificates=certified.server) as here:
        name = here.user.username
        certified.sign(name)
        options = over_tls(here, certified)
        folder = certified.folder
        options["ssl_domain"].set_credentials(
            str(folder / f"{name}.pem"), str(folder / f"{name}.key"), None
        )
        external = {"allowed_mechs": "EXTERNAL", "user": None, "password": None}
        with connected(here, **options, **external) as client:
            client.put("signed")
            assert client.seen() == ["signed"]


def over_tls(here: Listening, certified: Certified) -> dict[str, Any]:
    domain = proton.SSLDomain(proton.SSLDomain.MODE_CLIENT)
    domain.set_trusted_ca_db(str(certified.folder / "authority.pem"))
    domain.set_peer_authentication(proton.SSLDomain.VERIFY_PEER_NAME)
    return {"url": f"amqps://localhost:{here.tls_port}", "ssl_domain": domain}


@pytest.mark.case(25)
def test_a_container_id_is_had_once(here: Listening) -> None:
    alone = {
        "container_id": "only-one",
        "desired_capabilities": [proton.symbol("sole-connection-for-container")],
    }
    with connected(here, **alone):
        assert "amqp:invalid-field" in refused(here, **alone)
    until(lambda: not here.call(lambda: len(here.listener.clients)))
    with connected(here, **alone) as client:
        client.put("free again")


@pytest.mark.case(26)
def test_one_connection_has_many_sessions(here: Listening) -> None:
    with connected(here) as client:
        sessions = [client.connection.session() for _ in range(20)]
        senders = []
        for number, session in enumerate(sessions):
            session.open()
            sender = session.sender(f"puts {number}")
            sender.target.address = "orders"
            sender.open()
            senders.append(sender)
        client.until(lambda: all(one.credit for one in senders))

        sent = [one.send(proton.Message(body=n)) for n, one in enumerate(senders)]
        client.until(lambda: all(one.settled for one in sent))

        assert sorted(client.seen()) == list(range(20))


@pytest.mark.thorough
@pytest.mark.case(27)
def test_heartbeats_keep_an_idle_client(transactional_db: None) -> None:
    with listener(idle_timeout_s=4) as here, connected(here, heartbeat=4) as client:
        until_s = time.monotonic() + 5
        client.until(lambda: time.monotonic() > until_s)

        client.put("still here")


@pytest.mark.case(27)
def test_a_silent_client_is_closed_and_what_it_had_comes_back(
    transactional_db: None,
) -> None:
    with listener(idle_timeout_s=60) as here:
        client = connected(here)
        with pytest.raises(proton.ConnectionException), client as silent:
            silent.put("x")
            silent.get(silent.receiver(credit=1))
            for _ in range(2):  # at the first look, what came counts as of now
                here.later(60)
            until(Ready.objects.exists)
            silent.put("y")


@pytest.mark.case(29)
def test_a_client_that_does_not_read_is_not_sent_everything(
    transactional_db: None,
) -> None:
    put_many(
        [NewMessage("orders", number.to_bytes(1) * 2**16) for number in range(200)]
    )
    limits: dict[str, Any] = {"max_in_flight_bytes": 4 * 2**20, "unsent_bytes": 2**16}
    with listener(**limits) as here:
        with pytest.raises(InterruptedError), connected(here) as client:
            receiver = client.receiver(credit=1_000_000)
            client.get(receiver)
            (served,) = here.call(lambda: list(here.listener.clients))
            here.until(lambda: served.paused or served.in_flight_bytes >= 2**21)
            time.sleep(0.3)

            assert here.call(lambda: served.in_flight_bytes) <= 6 * 2**20
            assert Claim.objects.count() < 100
            raise InterruptedError
        here.until(lambda: not here.listener.clients)
        here.until(lambda: not here.listener.endings)
        with connected(here) as client:
            receiver, again = client.receiver(credit=200), []
            for _ in range(200):
                got = client.get(receiver)
                again.append(got.message.body[0])
                got.accept()
            assert again == list(range(200))


class Moving:
    """A connection that proton makes again by itself."""

    def __init__(self, first: Listening, *others: Listening) -> None:
        self.opened = 0
        self.container = reactor.Container()
        self.container.timeout = 0.1
        self.container.start()
        self.connection = self.container.connect(
            urls=[f"amqp://{one.host}:{one.port}" for one in (first, *others)],
            handler=self,
            reconnect=[0, 0.1, 0.1, 0.1],
            user=first.user.username,
            password=first.password,
            allow_insecure_mechs=True,
        )

    def on_connection_remote_open(self, event: Any) -> None:
        self.opened += 1

    def until(self, holds: Callable[[], object]) -> None:
        until_s = time.monotonic() + 10
        while not holds():
            assert time.monotonic() < until_s
            self.container.process()

    def put(self, body: str) -> None:
        sender = self.container.create_sender(self.connection, "orders", name=body)
        self.until(lambda: sender.credit)
        sent = sender.send(proton.Message(body=body))
        self.until(lambda: sent.settled)
        assert sent.remote_state == proton.Delivery.ACCEPTED
        sender.close()


def fail(here: Listening) -> None:
    """As if the listener's process had died."""
    for server in here.listener.servers:
        server.close()
    for client in here.listener.clients:
        client.transport.abort()


@pytest.mark.case(31)
def test_a_client_connects_anew_to_another_listener(transactional_db: None) -> None:
    with listener() as first, listener(user=first.user) as second:
        client = Moving(first, second)
        client.until(lambda: client.opened == 1)
        client.put("before")

        first.call(lambda: fail(first))
        client.until(lambda: client.opened == 2)
        client.put("after")

        client.connection.close()
        client.until(lambda: not second.listener.clients)
        with connected(second) as other:
            assert other.seen() == ["before", "after"]
