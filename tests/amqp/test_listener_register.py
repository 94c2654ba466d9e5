"""What the console sees of clients and closes of them; rights that are withdrawn."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models.functions import Now

from broker.amqp.clients.periodic import ROUND_S
from broker.amqp.protocol import conditions
from broker.amqp.protocol.endpoints import Endpoint
from broker.amqp.protocol.events import Attached, Begun, Detached
from broker.amqp.protocol.performatives import Source, Target
from broker.amqp.protocol.types.types import Symbol
from broker.models import Authority, ClientConnection, ClientEndpoint
from broker.monitoring import connections
from broker.queueing import processes
from broker.security import credentials
from broker.settlement.settle import back_out_overdue
from tests.amqp.listening import PASSWORD, Listening, Wire, listener
from tests.broker.elsewhere import kill, process, said
from tests.console.until import until
from tests.make import make_queue

SOLE = Symbol("sole-connection-for-container")
WITHIN_S = 20.0  # a right that is withdrawn ends what was begun with it


def put_to(client: Wire, name: str) -> Endpoint:
    session = client.connection.begin()
    endpoint = session.sender(name, Source(name), Target(name))
    client.expect(Attached)
    return endpoint


def get_from(client: Wire, name: str) -> Endpoint:
    session = client.connection.begin()
    endpoint = session.receiver(name, Source(name), Target(name))
    client.expect(Attached)
    return endpoint


def until_written(here: Listening, holds: Callable[[], object]) -> None:
    """Wait for what the listener does once a second, without waiting that second."""

    def is_held() -> bool:
        here.later(ROUND_S)
        return bool(holds())

    until(is_held)


def user_who(name: str, **rights: bool) -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    Authority.objects.create(user=user, pattern="orders", **rights)
    return user


def test_endpoints_are_written_down_within_a_second(here: Listening) -> None:
    queue = make_queue("orders")
    client = here.client(container_id="first")
    put_to(client, "orders")
    get_from(client, "orders")

    until_written(here, lambda: ClientEndpoint.objects.count() == 2)

    puts = ClientEndpoint.objects.get(kind="puts")
    gets = ClientEndpoint.objects.get(kind="gets")
    assert (puts.name, puts.node, puts.connection.container_id) == (
        *("orders", "orders"),
        "first",
    )
    assert (gets.node, gets.queue, gets.messages) == ("orders", queue, 0)
    assert puts.credit == here.listener.limits.put_credit


def test_an_endpoint_that_is_detached_is_not_there_any_more(here: Listening) -> None:
    make_queue("orders")
    client = here.client()
    first, second = put_to(client, "orders"), get_from(client, "orders")
    until_written(here, lambda: ClientEndpoint.objects.count() == 2)

    first.detach()
    client.send()
    until_written(here, lambda: ClientEndpoint.objects.count() == 1)
    second.session.end()
    client.send()
    until_written(here, lambda: not ClientEndpoint.objects.exists())
    assert ClientConnection.objects.exists()


@pytest.mark.parametrize("leave", [Wire.close, Wire.drop])
def test_a_connection_that_is_gone_takes_its_rows_along(
    here: Listening, leave: Callable[[Wire], None]
) -> None:
    make_queue("orders")
    client = here.client()
    put_to(client, "orders")
    until_written(here, ClientEndpoint.objects.exists)

    leave(client)

    until_written(here, lambda: not ClientConnection.objects.exists())
    assert not ClientEndpoint.objects.exists()


def test_an_operator_closes_a_connection(here: Listening) -> None:
    client, other = here.client(container_id="first"), here.client(container_id="other")
    row = ClientConnection.objects.get(container_id="first")

    connections.close_connection(row.pk, here.user)
    here.later(ROUND_S)

    error = client.closed().error
    assert error is not None
    assert error.condition == conditions.CONNECTION_FORCED
    assert "operator" in (error.description or "")
    other.connection.begin()
    other.expect(Begun)


def test_an_operator_closes_one_endpoint(here: Listening) -> None:
    make_queue("orders")
    client = here.client()
    puts, gets = put_to(client, "orders"), get_from(client, "orders")
    until_written(here, lambda: ClientEndpoint.objects.count() == 2)

    connections.close_endpoint(ClientEndpoint.objects.get(kind="gets").pk, here.user)
    here.later(ROUND_S)

    event = client.expect(Detached)
    assert event.endpoint is gets
    assert event.error is not None
    assert event.error.condition == conditions.DETACH_FORCED
    until_written(here, lambda: ClientEndpoint.objects.count() == 1)
    assert puts.attached


def test_an_authority_that_is_withdrawn_detaches_what_needs_it(here: Listening) -> None:
    make_queue("orders")
    user_who("bert", may_put=True, may_get=True)
    client = here.client(user="bert")
    puts, gets = put_to(client, "orders"), get_from(client, "orders")
    assert puts.attached
    assert gets.attached

    Authority.objects.exclude(user=None).update(may_get=False)  # groups keep theirs
    began = time.monotonic()
    here.later(ROUND_S)
    event = client.expect(Detached)

    assert time.monotonic() - began < WITHIN_S
    assert event.endpoint is gets
    assert event.error is not None
    assert event.error.condition == conditions.UNAUTHORIZED_ACCESS
    client.connection.begin()
    client.expect(Begun)
    assert puts.attached


def revoke(user: User) -> None:
    credentials.revoke(user.credentials.get(), None)


def expire(user: User) -> None:
    user.credentials.update(expires_at=Now())


def deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


@pytest.mark.parametrize("withdraw", [revoke, expire, deactivate])
def test_whoever_may_not_log_in_any_more_is_closed(
    here: Listening, withdraw: Callable[[User], None]
) -> None:
    user = user_who("bert", may_put=True)
    _, secret = credentials.create("billing", user)
    client, other = here.client(user="billing", password=secret), here.client()

    withdraw(user)
    began = time.monotonic()
    here.later(ROUND_S)
    error = client.closed().error

    assert time.monotonic() - began < WITHIN_S
    assert error is not None
    assert error.condition == conditions.UNAUTHORIZED_ACCESS
    other.connection.begin()
    other.expect(Begun)


def test_a_credential_may_no_more_than_it_is_for(here: Listening) -> None:
    make_queue("orders")
    make_queue("other")
    user = user_who("bert", may_put=True, may_get=True)
    _, secret = credentials.create("billing", user, patterns="#", may_get=False)
    client = here.client(user="billing", password=secret, container_id="narrow")
    connected = here.call(lambda: next(iter(here.listener.clients)))

    assert here.call(lambda: connected.may("put", "orders"))
    assert not here.call(lambda: connected.may("get", "orders"))
    assert not here.call(lambda: connected.may("put", "other"))
    client.close()


def test_a_credential_that_is_narrowed_ends_what_it_is_not_for_any_more(
    here: Listening,
) -> None:
    make_queue("orders")
    user = user_who("bert", may_put=True)
    credential, secret = credentials.create("billing", user)
    client = here.client(user="billing", password=secret)
    endpoint = put_to(client, "orders")
    assert endpoint.attached

    type(credential).objects.update(patterns="invoices")
    here.later(ROUND_S)
    event = client.expect(Detached)

    assert event.error is not None
    assert event.error.condition == conditions.UNAUTHORIZED_ACCESS


OTHER = """
from django.contrib.auth.models import User
from broker.amqp.clients import registry_rows as rows
from broker.models import ClientConnection
from broker.queueing import processes
processes.HEARTBEAT_S = 0.5
processes.Heartbeat(rows.KIND).start()
row = ClientConnection(container_id="unique", user_id=None, mechanism="PLAIN",
    host="elsewhere", is_encrypted=False)
print(rows.enter(row, is_alone=True), flush=True)
sys.stdin.readline()
"""


@pytest.mark.thorough
def test_a_container_id_is_alone_among_all_processes(here: Listening) -> None:
    with process(OTHER) as other:
        assert said(other) == "True"

        error = (
            here.client(container_id="unique", desired_capabilities=(SOLE,))
            .closed()
            .error
        )
        assert error is not None
        assert error.condition == conditions.INVALID_FIELD

        kill(other)
        client = here.client(container_id="unique", desired_capabilities=(SOLE,))
        client.connection.begin()
        client.expect(Begun)


def test_the_rows_of_a_process_that_died_go_with_it(here: Listening) -> None:
    with process(OTHER) as other:
        assert said(other) == "True"
        client = here.client(container_id="stays")
        kill(other)

    def is_forgotten() -> bool:
        back_out_overdue(limit=100)
        return not ClientConnection.objects.filter(container_id="unique").exists()

    until(is_forgotten)
    assert ClientConnection.objects.get().container_id == "stays"
    client.close()


@pytest.mark.thorough
def test_a_process_that_was_taken_for_dead_writes_everything_anew(
    here: Listening,
) -> None:
    make_queue("orders")
    client = here.client(container_id="stays")
    put_to(client, "orders")
    until(ClientEndpoint.objects.exists)
    before = processes.current()

    processes.resign()
    ClientEndpoint.objects.all().delete()
    ClientConnection.objects.all().delete()

    until(ClientEndpoint.objects.exists)
    row = ClientConnection.objects.get()
    assert row.container_id == "stays"
    assert row.owner_id == processes.current() != before
    connections.close_connection(row.pk, here.user)
    assert client.closed().error is not None


def test_a_database_that_was_away_is_caught_up_with(
    here: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = here.client(container_id="goes")
    here.client(container_id="stays")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    client.close()

    names = ClientConnection.objects.values_list("container_id", flat=True)
    until_written(here, lambda: list(names.all()) == ["stays"])


def test_names_that_no_column_can_hold_are_written_in_part(here: Listening) -> None:
    make_queue("orders")
    client = here.client(
        container_id="", properties={Symbol("product"): "nul \0" + "x" * 1000}
    )
    session = client.connection.begin()
    session.sender("nul \0" + "y" * 2000, Source("x"), Target("orders"))
    client.expect(Attached)

    until_written(here, ClientEndpoint.objects.exists)
    assert ClientEndpoint.objects.get().name.startswith("nul \ufffdyy")
    assert ClientConnection.objects.get().product.startswith("nul \ufffdxx")


def test_one_listener_can_follow_another(transactional_db: None) -> None:
    with listener() as first:
        user = first.user
        first.client(container_id="same")
    with listener(user=user) as second:
        second.client(container_id="same", desired_capabilities=(SOLE,))
        assert ClientConnection.objects.count() == 1
