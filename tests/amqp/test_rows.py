"""The rows of clients, as two connections change them at once."""

from __future__ import annotations

from django.db import connection, transaction

from broker.amqp.clients import registry_rows
from broker.models import ClientEndpoint
from tests.broker.elsewhere import Background, Elsewhere
from tests.console.edges.wire import make_client, make_endpoint
from tests.console.until import until

WAITING = """
SELECT true FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'"""


def test_endpoints_are_removed_in_the_order_of_their_ids(
    transactional_db: None,
) -> None:
    client = make_client()
    second = make_endpoint(client, "bills", pk=2)
    first = make_endpoint(client, "orders", pk=1)  # and lies behind it
    elsewhere = Elsewhere()
    elsewhere.begin()
    elsewhere(locked, first)

    removing = Background(lambda: removed([first, second]))
    until(is_waiting)
    elsewhere(locked, second)  # what waits for the first does not have it
    elsewhere.close()
    removing.join()

    assert not ClientEndpoint.objects.exists()


def is_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return cursor.fetchone() is not None


def locked(endpoint: ClientEndpoint) -> None:
    ClientEndpoint.objects.select_for_update(nowait=True).get(pk=endpoint.pk)


@transaction.atomic
def removed(endpoints: list[ClientEndpoint]) -> None:
    with connection.cursor() as cursor:  # as they lie, which a plan may choose any time
        cursor.execute(
            "SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off"
        )
    registry_rows.remove(
        registry_rows.Round(gone_endpoints=[one.pk for one in endpoints])
    )
