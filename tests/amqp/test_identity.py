"""Who a client is found to be, over real sockets."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from broker.amqp.clients.login import Access
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.frames import SASL, SASL_HEADER, Frames, frame
from broker.amqp.protocol.performatives import (
    SaslInit,
    SaslOutcome,
    decode_performative,
    encode_performative,
)
from broker.models import ClientConnection
from broker.security import credentials
from tests.amqp.certifying import Certified
from tests.amqp.listening import PASSWORD, Listening, Wire, listener

pytestmark = pytest.mark.usefixtures("transactional_db")

SCRAM = ("SCRAM-SHA-256",)
NOT_WELCOME = r"code 1 "
BOTH = Access(scram=True)


@pytest.fixture
def secured(transactional_db: None, certified: Certified) -> Iterator[Listening]:
    with listener(certificates=certified.server, access=BOTH) as listening:
        yield listening


def refused(here: Listening, user: str, password: str, *mechanisms: str) -> None:
    with pytest.raises(AmqpError, match=NOT_WELCOME):
        here.dial().authenticate(user, password, mechanisms or ("PLAIN",))


def only_row() -> ClientConnection:
    return ClientConnection.objects.select_related("user", "credential").get()


def test_a_user_logs_in_with_the_password_of_the_console(here: Listening) -> None:
    here.client()

    row = only_row()
    assert (row.user, row.credential, row.mechanism) == (here.user, None, "PLAIN")


def test_an_application_logs_in_with_its_credential(here: Listening) -> None:
    credential, secret = credentials.create("billing", here.user)

    here.client(user="billing", password=secret)

    row = only_row()
    assert (row.user, row.credential) == (here.user, credential)
    credential.refresh_from_db()
    assert credential.last_used_at is not None


def test_a_credential_goes_before_a_user_of_its_name_who_can_still_log_in(
    here: Listening,
) -> None:
    credential, secret = credentials.create("amelia", here.user)

    here.client(user="amelia", password=secret, container_id="credential")
    here.client(user="amelia", password=PASSWORD, container_id="user")

    found = dict(ClientConnection.objects.values_list("container_id", "credential"))
    assert found == {"credential": credential.pk, "user": None}


@pytest.mark.parametrize(
    ("user", "password"),
    [
        ("amelia", "wrong"),
        ("nobody", PASSWORD),
        ("amelia", PASSWORD.upper()),
        ("ämelia", "¶" * 50),
        ("a" * 1000, "b" * 1000),
    ],
)
def test_a_wrong_name_or_password_is_not_let_in(
    here: Listening, user: str, password: str
) -> None:
    refused(here, user, password)


def test_an_inactive_user_is_not_let_in(here: Listening) -> None:
    here.client().close()
    User.objects.update(is_active=False)

    refused(here, "amelia", PASSWORD)


def test_a_password_that_was_changed_is_forgotten_at_once(here: Listening) -> None:
    here.client().close()
    here.user.set_password("another")
    here.user.save()

    refused(here, "amelia", PASSWORD)
    here.client(password="another").close()


def test_a_credential_that_is_revoked_or_expired_is_not_let_in(here: Listening) -> None:
    gone, secret_of_gone = credentials.create("gone", here.user)
    credentials.revoke(gone, None)
    yesterday = timezone.now() - timedelta(days=1)
    _, secret_of_old = credentials.create("old", here.user, expires_at=yesterday)

    refused(here, "gone", secret_of_gone)
    refused(here, "old", secret_of_old)


def test_many_clients_with_one_password_are_checked_once(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[float] = []
    really = User.check_password

    def slow(user: User, password: str) -> bool:
        checks.append(time.monotonic())
        time.sleep(0.2)
        return really(user, password)

    monkeypatch.setattr(User, "check_password", slow)
    wires = [here.dial() for _ in range(5)]
    for wire in wires:
        wire.socket.sendall(at_once("amelia", PASSWORD))
    for wire in wires:
        assert outcome(wire) == SaslOutcome(0)
    here.client().close()

    assert len(checks) == 1


def at_once(user: str, password: str) -> bytes:
    """All of a login, by one who does not wait for answers."""
    init = SaslInit("PLAIN", f"\0{user}\0{password}".encode())
    return SASL_HEADER + frame(0, encode_performative(init), kind=SASL)


def outcome(wire: Wire) -> SaslOutcome:
    data = b""
    while len(data) < 8 or not list(Frames(8192).feed(data[8:]))[1:]:
        data += wire.socket.recv(8192)
    _, _, body, at, end = list(Frames(8192).feed(data[8:]))[1]
    said, _ = decode_performative(body, at, end)
    assert isinstance(said, SaslOutcome)
    return said


def test_one_who_guesses_is_slowed_down_and_others_are_not(
    transactional_db: None,
) -> None:
    User.objects.create_user("victim", password="right")
    with listener(failures_per_name=3) as here:
        here.client().close()
        for attempt in range(3):
            refused(here, "victim", f"guess {attempt}")

        began = time.monotonic()
        refused(here, "victim", "right")  # one failure too many
        assert time.monotonic() - began >= 1

        here.client().close()
        _, secret = credentials.create("billing", here.user)
        here.client(user="billing", password=secret).close()


def test_guesses_of_many_names_from_one_address_are_limited(
    transactional_db: None,
) -> None:
    with listener(failures_per_host=4) as here:
        here.client().close()  # is remembered: it is no guess
        for attempt in range(4):
            refused(here, f"name {attempt}", "guess")

        began = time.monotonic()
        refused(here, "another", "guess")
        assert time.monotonic() - began >= 1
        here.client().close()


def test_an_application_proves_its_secret_without_telling_it() -> None:
    with listener(access=BOTH) as here:
        _, secret = credentials.create("billing", here.user)

        here.client(user="billing", password=secret, mechanisms=SCRAM)

        assert only_row().mechanism == "SCRAM-SHA-256"


def test_scram_knows_no_difference_between_wrong_and_unknown() -> None:
    with listener(access=BOTH) as here:
        credentials.create("billing", here.user)

        refused(here, "billing", "wrong", *SCRAM)
        refused(here, "nobody", "wrong", *SCRAM)
        refused(here, "amelia", PASSWORD, *SCRAM)  # a person has no keys


def test_a_proof_for_a_credential_that_was_just_revoked_is_too_late() -> None:
    with listener(access=BOTH) as here:
        credential, secret = credentials.create("billing", here.user)
        credentials.revoke(credential, None)

        refused(here, "billing", secret, *SCRAM)


@pytest.mark.parametrize(
    ("access", "ip", "encrypted", "offered"),
    [
        (Access(), "127.0.0.1", False, ["PLAIN"]),
        (Access(), "::1", False, ["PLAIN"]),
        (Access(), "::ffff:127.0.0.1", False, ["PLAIN"]),
        (Access(), "192.0.2.7", False, ["SCRAM-SHA-256"]),
        (Access(), "192.0.2.7", True, ["PLAIN"]),
        (Access(), "", False, ["SCRAM-SHA-256"]),
        (Access(plain_without_tls=True), "192.0.2.7", False, ["PLAIN"]),
        (Access(plain_without_tls=False), "127.0.0.1", False, ["SCRAM-SHA-256"]),
        (Access(scram=True), "127.0.0.1", True, ["PLAIN", "SCRAM-SHA-256"]),
        (Access(plain_without_tls=False, scram=False), "127.0.0.1", False, []),
    ],
)
def test_passwords_are_not_asked_for_where_others_can_read_them(
    access: Access, ip: str, encrypted: bool, offered: list[str]
) -> None:
    assert access.mechanisms(ip, encrypted=encrypted, certified=False) == offered


def test_nobody_comes_without_a_name(here: Listening) -> None:
    with pytest.raises(AmqpError, match="the server offers PLAIN"):
        here.dial().authenticate("", "", ("ANONYMOUS",))


def test_passwords_travel_by_tls(secured: Listening, certified: Certified) -> None:
    client = secured.dial(certified.context())
    client.log_in(user="amelia", password=PASSWORD)

    assert only_row().is_encrypted


def test_a_certificate_stands_for_the_credential_or_user_that_it_names(
    secured: Listening, certified: Certified
) -> None:
    credential, _ = credentials.create("billing", secured.user)
    for name in ("billing", "amelia"):
        client = secured.dial(certified.context(name))
        client.log_in(mechanisms=("EXTERNAL",), container_id=name)

    found = ClientConnection.objects.values_list("container_id", "credential")
    assert dict(found) == {"billing": credential.pk, "amelia": None}


def test_a_certificate_for_somebody_else_is_not_let_in(
    secured: Listening, certified: Certified
) -> None:
    gone, _ = credentials.create("gone", secured.user)
    credentials.revoke(gone, None)
    for name in ("nobody", "gone"):
        wire = secured.dial(certified.context(name))
        with pytest.raises(AmqpError, match=NOT_WELCOME):
            wire.authenticate("", "", ("EXTERNAL",))


def test_a_client_without_a_certificate_is_not_external(
    secured: Listening, certified: Certified
) -> None:
    wire = secured.dial(certified.context())
    with pytest.raises(AmqpError, match="the server offers PLAIN, SCRAM"):
        wire.authenticate("", "", ("EXTERNAL",))


def test_a_certificate_that_a_stranger_signed_ends_the_handshake(
    secured: Listening, certified: Certified
) -> None:
    certified.sign("mallory", "stranger")
    context = certified.context()
    folder = certified.folder
    context.load_cert_chain(folder / "mallory.pem", folder / "mallory.key")

    with pytest.raises((ssl.SSLError, EOFError, ConnectionError)):
        secured.dial(context).authenticate("", "", ("EXTERNAL",))
    secured.until(lambda: not secured.listener.clients)


def test_tls_is_not_older_than_1_2(secured: Listening) -> None:
    assert secured.listener.tls is not None
    assert secured.listener.tls.minimum_version == ssl.TLSVersion.TLSv1_2
