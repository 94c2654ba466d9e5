"""Pages of open units of work: who holds what, what if, and the way to end one."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from broker.models import Act, Place, Queue
from broker.models import UnitOfWork as UnitRow
from broker.queueing.browse import where_is
from broker.queueing.put import put, put_many
from broker.transactions.prefetch import Prefetched, begun
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork
from tests.console.conftest import SignIn
from tests.console.letters import make_places
from tests.console.messages.test_messages import EVIL, words
from tests.console.recorded import deeds
from tests.make import make_messages, make_queue, make_setting, make_user, minutes

pytestmark = pytest.mark.django_db


def held(queue: str = "orders", *, actor: str = "shop.handle", limit: int = 1) -> int:
    work = UnitOfWork(actor=actor)
    work.get(queue, limit)
    assert work.id is not None
    return work.id


def shown(client: Client, name: str, *args: object, **query: str) -> str:
    answer = client.get(reverse(f"console:{name}", args=args), query)
    assert answer.status_code == 200
    return words(answer.content.decode())


def test_nothing_open_says_where_else_to_look(sign_in: SignIn) -> None:
    said = shown(sign_in("viewer"), "units")

    assert "No unit of work holds anything." in said
    assert "whether its consumers stopped" in said


def test_the_list_says_who_holds_what(sign_in: SignIn) -> None:
    make_queue()
    put_many(make_messages(2))
    uow = held(actor=EVIL)

    html = sign_in("viewer").get(reverse("console:units")).content.decode()

    said = words(html)
    assert f"{uow} in progress" in said
    assert "orders" in said
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_number_of_its_puts_is_told_where_it_is_known(sign_in: SignIn) -> None:
    queue = make_queue()
    put_many(make_messages(2))
    uow = held()
    UnitRow.objects.filter(pk=uow).update(puts=12)
    ahead = Prefetched(queue, actor="client")
    ahead.get(1)
    client = sign_in("viewer")

    assert f"{uow} in progress" in shown(client, "units")
    assert "12 messages if it is committed, none if" in shown(client, "unit", uow)
    assert "belongs to the client’s transactions" in shown(client, "unit", ahead.uow)
    listed = client.get("/api/v1/units-of-work").json()["units"]
    assert [one["puts"] for one in listed] == [12, None]

    UnitRow.objects.filter(pk=uow).update(owner_id=2**31 - 1)
    assert "12 messages that its process had put went" in shown(client, "unit", uow)


def test_one_page_after_the_other(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.consumers.pages.units_of_work.PAGE", 2)
    make_queue()
    put_many(make_messages(3))
    uows = [held() for _ in range(3)]
    client = sign_in("viewer")

    first = client.get(reverse("console:units")).context
    second = client.get(reverse("console:units") + first["next"]).context

    listed = [unit.id for page in (first, second) for unit, _ in page["rows"]]
    assert listed == uows
    assert second["next"] is None
    for cursor in ("x", "-1", "9" * 40):
        assert (
            client.get(reverse("console:units"), {"after": cursor}).status_code == 200
        )


def test_what_if_says_where_each_message_would_go(sign_in: SignIn) -> None:
    make_places(attempts=2, delay_ms=4000)
    first = put("orders").message_id
    uow = held()
    client = sign_in("viewer")

    said = shown(client, "unit", uow)

    assert f"{first}" in said
    assert "Waits 4 s. Attempt 2 of 2 comes next." in said
    assert "orders: max delivery attempts, redelivery delay" in said
    assert "Its process is running. There is nothing to do" in said


def test_what_would_die_says_where_it_would_lie(sign_in: SignIn) -> None:
    make_places(attempts=1)
    put("orders")

    said = shown(sign_in("viewer"), "unit", held())

    assert "Dead letter on DLQ, after attempt 1 of 1." in said
    assert "orders: max delivery attempts, dead letter address" in said


def test_what_would_be_discarded_says_why_and_for_how_long_it_is_kept(
    sign_in: SignIn,
) -> None:
    make_queue()
    make_setting(max_delivery_attempts=1)
    put("orders")

    said = shown(sign_in("viewer"), "unit", held())

    assert "Discarded: no dead letter address is set." in said
    assert "The discard bin keeps it for 7 d." in said


def test_poison_for_its_consumers_is_told_with_the_threshold(sign_in: SignIn) -> None:
    make_queue(backout_threshold=1, backout_queue="BOQ")
    make_queue("BOQ")
    put("orders")

    said = shown(sign_in("viewer"), "unit", held())

    assert "Its next consumer moves it to BOQ: it came back 1 of 1 times." in said
    assert "queue orders: backout threshold" in said


def test_one_may_ask_for_another_ending(sign_in: SignIn) -> None:
    make_queue(counts_when_lost="none")
    put("orders")
    uow = held()

    said = shown(sign_in("viewer"), "unit", uow, **{"if": "lost"})

    assert "Ready again at its old place." in said
    assert "Ready again at its old place." not in shown(
        sign_in("operator"), "unit", uow, **{"if": "nonsense"}
    )


def test_a_client_that_takes_ahead_is_to_be_closed_instead(sign_in: SignIn) -> None:
    queue = make_queue()
    put_many(make_messages(2))
    ahead = Prefetched(queue, actor="client")
    ahead.get(2)

    html = sign_in("operator").get(reverse("console:unit", args=[ahead.uow]))

    said = words(html.content.decode())
    assert "close its connection or its endpoint" in said
    assert "Back out by force" not in said
    assert f"{reverse('console:connections')}?q=orders" in html.content.decode()


def test_what_is_prepared_leads_to_its_decision(sign_in: SignIn) -> None:
    make_queue()
    put("orders")
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    work.put("orders", b"x")
    prepare(work, "xid 7")

    said = shown(sign_in("operator"), "unit", work.id)

    assert "commit it or back it out under Health" in said
    assert "1 message if it is committed" in said


def test_one_sees_only_what_one_may_inquire(client: Client) -> None:
    make_queue()
    make_queue("bills")
    put("orders")
    put("bills")
    of_orders, of_bills = held(), held("bills")
    only_puts = begun(None, timeout=minutes(5))
    user = make_user("vera", permissions=("broker.view_queue",), pattern="bills")
    client.force_login(user)

    said = shown(client, "units")

    assert str(of_bills) in said
    assert "shop.handle" in said
    assert "orders" not in said
    for uow in (of_orders, only_puts):
        assert client.get(reverse("console:unit", args=[uow])).status_code == 404


@pytest.mark.parametrize("uow", [0, 7, 2**63 - 1, 10**30])
def test_what_has_ended_says_so(sign_in: SignIn, uow: int) -> None:
    answer = sign_in("viewer").get(reverse("console:unit", args=[uow]))

    assert answer.status_code == 404
    assert "It holds nothing any more" in answer.content.decode()


def force(client: Client, of: int, **said: object) -> tuple[int, str]:
    path = reverse("console:back_out_unit", args=[of])
    answer = client.post(path, said, follow=True)
    return answer.status_code, words(answer.content.decode())


def test_an_operator_backs_one_out_with_its_number_and_a_reason(
    sign_in: SignIn,
) -> None:
    make_queue()
    message_id = put("orders").message_id
    uow = held()
    client = sign_in("operator")

    status, said = force(client, uow, uow=uow, reason="It hangs.")

    assert status == 200
    assert f"Unit of work {uow} is backed out." in said
    (there,) = where_is(message_id)
    assert (there.place, there.backout_count) == (Place.READY, 1)
    (deed,) = deeds()
    assert (deed.act, deed.object_id) == (Act.BACK_OUT_UNIT, str(uow))
    assert "It hangs." in deed.reason
    assert deed.details == {"queues": ["orders"]}


def test_one_that_only_puts_is_shown_to_who_sees_all_and_can_be_backed_out(
    sign_in: SignIn,
) -> None:
    uow = begun(None, timeout=minutes(5))
    client = sign_in("operator")

    assert f"{uow} in progress" in shown(client, "units")
    assert "0 messages" in shown(client, "unit", uow)
    status, said = force(client, uow, uow=uow, reason="It hangs.")

    assert (status, deeds()[0].details) == (200, {"queues": []})
    assert f"Unit of work {uow} is backed out." in said
    assert not UnitRow.objects.exists()


@pytest.mark.parametrize(
    ("off", "reason", "wrong"),
    [(1, "It hangs.", "This is unit of work"), (0, "", "Say why.")],
)
def test_another_number_or_no_reason_does_nothing(
    sign_in: SignIn, off: int, reason: str, wrong: str
) -> None:
    make_queue()
    put("orders")
    uow = held()

    status, said = force(sign_in("operator"), uow, uow=uow + off, reason=reason)

    assert status == 422
    assert wrong in said
    assert UnitRow.objects.filter(pk=uow).exists()


def test_who_may_not_force_is_told_who_may(sign_in: SignIn) -> None:
    make_queue()
    put("orders")
    uow = held()
    client = sign_in("viewer")

    assert "This needs the role operator" in shown(client, "unit", uow)
    assert force(client, uow, uow=uow, reason="x")[0] == 403


def test_forcing_takes_the_authority_on_every_queue(client: Client) -> None:
    make_queue()
    put("orders")
    uow = held()
    user = make_user(
        permissions=("broker.view_queue", "broker.resubmit_message"),
        granted=("inquire", "browse"),
    )
    client.force_login(user)

    assert force(client, uow, uow=uow, reason="x")[0] == 403
    assert UnitRow.objects.filter(pk=uow).exists()


def test_one_that_ended_meanwhile_is_left(sign_in: SignIn) -> None:
    status, said = force(sign_in("operator"), 7, uow=7, reason="x")

    assert status == 200
    assert "Unit of work 7 has ended. Nothing was done now." in said


def test_a_refusal_is_told(sign_in: SignIn) -> None:
    queue = make_queue()
    put("orders")
    ahead = Prefetched(queue)
    ahead.get(1)
    assert ahead.uow is not None

    status, said = force(sign_in("operator"), ahead.uow, uow=ahead.uow, reason="x")

    assert status == 409
    assert "Close the client’s connection" in said.replace("'", "’")


def test_the_questions_do_not_grow_with_what_is_held(sign_in: SignIn) -> None:
    make_places(attempts=1)
    put_many(make_messages(60))
    client = sign_in("viewer")
    shown(client, "units")  # the badges are kept for seconds
    counts = []
    for limit in (1, 40):
        uow = held(limit=limit)
        with CaptureQueriesContext(connection) as few:
            shown(client, "unit", uow)
        counts.append(len(few))
        with CaptureQueriesContext(connection) as listed:
            shown(client, "units")
        counts.append(len(listed))

    assert counts[0] == counts[2]
    assert counts[1] == counts[3]
    assert Queue.objects.count() == 2
