"""Records of acts: written with the act, by whoever acts, and kept."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import Error, InternalError, connection, transaction

from broker.models import Act, AuditRecord, Queue
from broker.operations import queue_pause
from broker.security import audit, credentials
from broker.security.audit import Actor, Thing
from tests.broker.auditing import detail, guard, last, note
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db


def actor() -> tuple[str, str, int | None]:
    one = last()
    return one.actor_kind, one.actor, one.actor_id


def test_a_record_says_who_did_what_to_what_and_why() -> None:
    queue = make_queue("orders")
    omar = make_user("omar")

    with audit.acting(lambda: Actor.of(omar, "10.0.0.7")):
        queue_pause.pause("orders", reason="the bank is down")

    one = last()
    assert actor() == ("user", "omar", omar.pk)
    assert (one.source, one.act, one.outcome) == ("10.0.0.7", "queue.pause", "done")
    assert (one.object_kind, one.object_id) == ("queue", str(queue.pk))
    assert (one.object_name, one.reason) == ("orders", "the bank is down")
    assert detail() == {"changed": {"paused": {"before": False, "after": True}}}


def test_it_is_known_who_acts_in_every_way_to_act() -> None:
    omar = make_user("omar")
    shop, _ = credentials.create("shop", omar)

    note()
    assert actor()[0] == "system"
    note(by=omar)
    assert actor() == ("user", "omar", omar.pk)
    with audit.acting(lambda: Actor.of(shop)):
        note(by=omar)
        assert actor() == ("credential", "shop", shop.pk)
    with audit.acting(lambda: Actor.of(AnonymousUser(), "10.0.0.7")):
        note(by=omar)
        assert (*actor()[:2], last().source) == ("user", "omar", "10.0.0.7")
        note()
        assert actor() == ("nobody", "", None)
    assert not audit.is_acting()


def test_what_cannot_be_recorded_is_not_done() -> None:
    make_queue("orders")

    def who() -> Actor:
        raise RuntimeError("nobody knows")

    with pytest.raises(RuntimeError), audit.acting(who), transaction.atomic():
        queue_pause.pause("orders")

    assert not Queue.objects.get().paused


def test_what_is_undone_leaves_no_record() -> None:
    make_queue("orders")
    before = AuditRecord.objects.count()

    with transaction.atomic():
        queue_pause.pause("orders")
        transaction.set_rollback(True)

    assert AuditRecord.objects.count() == before


@pytest.mark.parametrize(
    ("statement", "is_chained"),
    [
        ("UPDATE broker_audit SET actor = 'ada'", True),
        ("UPDATE broker_audit SET hash = NULL", True),
        ("DELETE FROM broker_audit", True),
        ("TRUNCATE broker_audit", True),
        ("UPDATE broker_audit SET reason = ''", False),
        ("DELETE FROM broker_audit", False),
    ],
)
def test_the_database_changes_no_record(statement: str, is_chained: bool) -> None:
    guard()
    note(reason="the bank is down")
    with connection.cursor() as cursor:
        if is_chained:
            cursor.execute("SET CONSTRAINTS audit_is_chained IMMEDIATE")
        with pytest.raises(Error, match="neither changed nor"), transaction.atomic():
            cursor.execute(statement)
    assert last().reason == "the bank is down"


def test_a_forged_hash_is_refused() -> None:
    AuditRecord.objects.bulk_create(
        [AuditRecord(number=1, hash="0" * 64, act=Act.PAUSE, detail="{}")]
    )
    with (
        pytest.raises((Error, InternalError), match="neither changed nor"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS audit_is_chained IMMEDIATE")
    with connection.cursor() as cursor:  # so that the test can end
        cursor.execute("SET LOCAL session_replication_role = replica")
        AuditRecord.objects.all().delete()


def test_no_text_is_too_odd_to_be_kept() -> None:
    odd = "a\0b\ud800\u202e" + "x" * 1000
    audit.record(Act.PAUSE, Thing("queue", 1, odd), reason=odd, detail={"a\0": odd})

    one = last()
    assert one.object_name.startswith("ab?\u202e")
    assert (len(one.object_name), one.object_name[-1]) == (500, "…")
    assert "\\u0000" not in one.detail
    assert list(detail()) == ["a"]


def test_before_and_after_hide_what_is_secret() -> None:
    omar = make_user("omar")
    before = audit.state_of(omar)
    omar.set_password("another horse")
    omar.is_staff = True
    omar.save()

    changed = audit.changes(before, audit.state_of(omar))

    assert changed == {
        "is_staff": {"before": False, "after": True},
        "password": {"before": "not shown", "after": "not shown"},
    }


def test_a_long_value_that_changes_at_its_end_has_changed() -> None:
    found = audit.changes({"selector": "x" * 5000}, {"selector": "x" * 5000 + "y"})
    assert len(found["selector"]["after"]) == 2001


def test_refusals_are_recorded_up_to_a_number_of_each() -> None:
    eve, omar = Actor.of(make_user("eve"), "10.6.6.6"), Actor.of(make_user("omar"))

    for _ in range(30):
        with audit.acting(lambda: eve):
            audit.refuse(Act.REACH, reason="no")
    with audit.acting(lambda: omar):
        audit.refuse(Act.REACH, reason="no")

    refused = AuditRecord.objects.filter(outcome="refused")
    assert refused.filter(actor="eve").count() == 20
    assert refused.filter(actor="omar").count() == 1
    said = [detail(one) for one in refused.filter(actor="eve").order_by("pk")]
    assert said[:19] == [{}] * 19
    assert said[19] == {"further": "Further refusals are not recorded for a minute."}


def test_refusals_are_recorded_up_to_a_number_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.security.audit.records.OF_ALL", 25)

    for number in range(40):
        host = f"10.0.0.{number}"
        with audit.acting(lambda host=host: Actor.of(AnonymousUser(), host)):  # type: ignore[misc]
            audit.refuse(Act.SIGN_IN, reason="no")

    refused = AuditRecord.objects.filter(outcome="refused")
    assert refused.count() == 25
    assert "further" in last().detail
