"""The chain of records: whole after any number of acts, and broken by any change."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from broker.models import AuditCheck, AuditRecord
from broker.security import audit
from broker.security.audit import Head
from tests.broker.auditing import note, tampering

RECORDS = 12
TRIALS = 200
FIELDS = (
    *("at", "actor_kind", "actor_id", "actor", "source", "act", "object_kind"),
    *("object_id", "object_name", "outcome", "reason", "detail", "operation_id"),
    *("number", "hash"),
)


@pytest.fixture
def _chain(transactional_db: None) -> None:
    for number in range(RECORDS):
        note(f"Größe {number}", reason="", detail={"ä": number}, operation=number)


def head() -> Head:
    found, fault = audit.verify()
    assert fault is None, fault
    return found


def verified(*arguments: str) -> tuple[int, str]:
    """The exit code of the command, and all it says."""
    out = io.StringIO()
    try:
        call_command("audit_verify", *arguments, stdout=out, stderr=out)
    except SystemExit as error:
        return int(str(error.code)), out.getvalue()
    return 0, out.getvalue()


def test_an_empty_chain_is_whole(transactional_db: None) -> None:
    assert head() == Head(0, "0" * 64)
    assert verified()[0] == 0


@pytest.mark.usefixtures("_chain")
def test_what_the_database_chains_is_what_is_verified() -> None:
    numbers = list(AuditRecord.objects.order_by("pk").values_list("number", flat=True))

    assert numbers == list(range(1, RECORDS + 1))
    assert head() == Head(RECORDS, AuditRecord.objects.get(number=RECORDS).hash or "")
    assert verified()[0] == 0


@pytest.mark.usefixtures("_chain")
def test_an_act_that_is_undone_leaves_no_gap() -> None:
    with transaction.atomic():
        note("undone")
        transaction.set_rollback(True)
    note("done")
    assert head().number == RECORDS + 1


@pytest.mark.usefixtures("_chain")
def test_any_record_that_is_changed_taken_put_in_or_moved_is_found() -> None:
    drawn = random.Random(1973)
    deeds = [change, take_away, put_in, swap]
    for trial in range(TRIALS):
        with tampering() as cursor:
            first = deeds[trial % len(deeds)](cursor, drawn)
            found, fault = audit.verify()
        assert fault is not None, trial
        assert (found.number, fault.number) == (first - 1, first), fault.sentence
    head()


def change(cursor: Any, drawn: random.Random) -> int:
    """One field of one record, to something else of its kind."""
    number, field = drawn.randint(1, RECORDS), drawn.choice(FIELDS)
    new = {
        "at": "at + interval '1 microsecond'",
        "actor_id": "coalesce(actor_id, 0) + 1",
        "operation_id": "operation_id + 1",
        "number": "number + 1000",
        "hash": "reverse(hash)",
    }.get(field, f"{field} || 'x'")
    cursor.execute(
        f"UPDATE broker_audit SET {field} = {new} WHERE number = %s", [number]
    )
    return number


def take_away(cursor: Any, drawn: random.Random) -> int:
    number = drawn.randint(1, RECORDS - 1)  # the last of all is only missed by a head
    cursor.execute("DELETE FROM broker_audit WHERE number = %s", [number])
    if drawn.random() < 0.5:  # and close the gap
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(
            "UPDATE broker_audit SET number = -number + 1 WHERE number > %s", [number]
        )
        cursor.execute("UPDATE broker_audit SET number = -number WHERE number < 0")
    return number


def put_in(cursor: Any, drawn: random.Random) -> int:
    """A copy of a record, at the end or without a number."""
    number = drawn.randint(1, RECORDS)
    place = drawn.choice(["NULL", str(RECORDS + 1)])
    columns = ", ".join(FIELDS[:-2])
    cursor.execute(
        f"INSERT INTO broker_audit ({columns}, number, hash) SELECT {columns}, {place},"
        " hash FROM broker_audit WHERE number = %s",
        [number],
    )
    return RECORDS + 1


def swap(cursor: Any, drawn: random.Random) -> int:
    one, other = sorted(drawn.sample(range(1, RECORDS + 1), 2))
    for before, after in ((one, -1), (other, one), (-1, other)):
        cursor.execute(
            "UPDATE broker_audit SET number = %s WHERE number = %s", [after, before]
        )
    return one


@pytest.mark.usefixtures("_chain")
def test_an_end_that_is_cut_off_is_found_by_a_head_that_was_kept() -> None:
    kept = head()
    with tampering() as cursor:
        cursor.execute("DELETE FROM broker_audit WHERE number > 10")
        assert audit.verify()[1] is None
        found, fault = audit.verify(kept)
    assert found.number == 10
    assert fault is not None
    assert "What came after was taken away." in fault.sentence


@pytest.mark.usefixtures("_chain")
def test_a_chain_that_is_made_anew_is_found_by_a_head_that_was_kept() -> None:
    kept = head()
    with tampering() as cursor:
        cursor.execute("UPDATE broker_audit SET actor = 'eve' WHERE number = 3")
        rechain()
        assert audit.verify()[1] is None
        _, fault = audit.verify(kept)
    assert fault is not None
    assert "was replaced" in fault.sentence
    note("later")
    assert audit.verify(kept)[1] is None


def rechain() -> None:
    before = "0" * 64
    for one in AuditRecord.objects.order_by("number"):
        before = audit.chain.digest(one, before)
        AuditRecord.objects.filter(pk=one.pk).update(hash=before)


@pytest.mark.usefixtures("_chain")
def test_the_command_names_the_first_broken_record_and_pages_know() -> None:
    code, said = verified()
    assert (code, said.splitlines()[-1]) == (0, str(head()))
    assert verified("--head", str(head()))[0] == 0
    with tampering() as cursor:
        cursor.execute("UPDATE broker_audit SET reason = 'x' WHERE number = 5")
        code, said = verified()
        checked = audit.last_check()
        assert checked is not None
        assert (checked.number, checked.fault[:8]) == (4, "Record 5")
    assert code == 1
    assert "Record 5 is not what was written" in said
    assert "Records up to 4" in said
    assert AuditCheck.objects.get().fault == ""


@pytest.mark.parametrize("wrong", ["", "7", "7:abc", "x:" + "0" * 64, "1:" + "g" * 64])
def test_what_is_no_head_is_refused(wrong: str) -> None:
    with pytest.raises(CommandError, match="is no head"):
        call_command("audit_verify", "--head", wrong)


@pytest.fixture
def closing() -> Iterator[list[threading.Thread]]:
    threads: list[threading.Thread] = []
    yield threads
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()


def test_many_who_act_at_once_make_one_chain(
    transactional_db: None, closing: list[threading.Thread]
) -> None:
    def act(name: str) -> None:
        for number in range(25):
            note(f"{name} {number}")
        connection.close()

    for name in "abcdefgh":
        closing.append(threading.Thread(target=act, args=[name]))
        closing[-1].start()
    for thread in closing:
        thread.join(30)

    assert head().number == 200


def test_nobody_waits_for_an_act_that_is_not_committed(
    transactional_db: None, closing: list[threading.Thread]
) -> None:
    """Also two acts that hold what the other wants would only wait for each other."""
    done = threading.Event()

    def act() -> None:
        note("the other")
        done.set()
        connection.close()

    with transaction.atomic():
        note("the first")
        closing.append(threading.Thread(target=act))
        closing[-1].start()
        assert done.wait(30)

    records = AuditRecord.objects.order_by("number").values_list("object_name")
    assert [name for (name,) in records] == ["the other", "the first"]
    assert head().number == 2
