"""The demonstration: what it sends, who reads it, and what becomes of the rest."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from hypothesis import example, given
from hypothesis import strategies as st
from pytest_django import Settings

from broker import operations
from broker.client.dispatch.handlers import Handle
from broker.models import (
    Address,
    AddressSetting,
    Approval,
    DeadLetter,
    Link,
    Message,
    Operation,
    Queue,
    RecurringMessage,
)
from broker.queueing.get import Delivery
from broker.queueing.put import put
from broker.transactions.scope import unit_of_work
from console.demo import customers
from console.demo.handlers import note, receive
from console.demo.messages import (
    KNOWN_CUSTOMERS,
    LATE_CUSTOMERS,
    Sample,
    in_folder,
    samples,
)
from console.demo.reading import HL7, JSON, XML, read
from console.demo.receipts import send_receipt
from console.management.commands import seed_demo
from console.management.commands.seed_demo import make_places
from dashboards.models import ReportRun
from tests.make import NOON, minutes, plan_resubmit

REAL_MESSAGES = settings.BASE_DIR.parent / "shared" / "data"
SAMPLES = samples()


def outcome(sample: Sample, known: tuple[str, ...] = KNOWN_CUSTOMERS) -> str:
    """What the receiver says, or why it does not."""
    try:
        return f"read: {read(sample.body, sample.content_type, known)}"
    except (ValueError, LookupError) as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_every_sample_is_read_or_refused_as_it_says(sample: Sample) -> None:
    said = outcome(sample)
    assert sample.trouble in said
    assert said.startswith("read: ") != bool(sample.trouble)


def test_the_set_is_the_same_each_time_and_has_something_of_everything() -> None:
    assert samples() == SAMPLES
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES) == 60
    assert {sample.content_type for sample in SAMPLES} > {HL7, JSON, XML}
    assert sum(not sample.trouble for sample in SAMPLES) == 40


def test_another_turn_has_other_numbers() -> None:
    first, second = ({sample.name for sample in samples(turn)} for turn in (0, 1))
    assert not first & second


@pytest.mark.parametrize("late", LATE_CUSTOMERS)
def test_an_order_that_came_too_early_is_read_once_its_customer_is_known(
    late: str,
) -> None:
    early = [sample for sample in SAMPLES if late in sample.trouble]
    assert early
    assert all("LookupError" in outcome(sample) for sample in early)
    assert all(outcome(sample, (late,)).startswith("read: ") for sample in early)


@pytest.mark.parametrize(
    ("body", "content_type", "summary"),
    [
        (b'{"action": "opened", "number": 7}', JSON, "object with action, number"),
        (b'{"a": 1}', "Application/JSON; charset=utf-8", "object with a"),
        (b"MSH|^~\\&|A|B|C|D|1||ADT^A01|7|P|2.5\r", HL7, "ADT^A01 7"),
        (b"\x0bMSH|^~\\&|||||1||ACK|8\r\x1c\r", HL7, "ACK 8"),  # framed as by MLLP
        (b"MSH|^~\\&|||||1||ACK|9\nMSA|AA|8\n", HL7, "ACK 9"),  # Unix line ends
        (
            b"BHS|^~\\&\rMSH|^~\\&|||||1||ACK|1\rMSH|^~\\&|||||1||ACK|2\rBTS|2\r",
            HL7,
            "ACK 1 and 1 more",
        ),
        (b"<note><to>x</to></note>", "text/xml", "note"),
    ],
)
def test_what_is_well_formed_is_read(
    body: bytes, content_type: str, summary: str
) -> None:
    assert read(body, content_type, ()) == summary


@given(
    body=st.binary()
    | st.text("MSHBFT|^~\\&\r\n\x0b\x85 1").map(lambda text: f"MSH{text}".encode())
    | st.text("{}[]<>:,/\"'1eax!?-").map(str.encode),
    content_type=st.sampled_from([HL7, JSON, XML, "image/tiff"]),
)
@example(b"[" * 100_000, JSON)
@example(b"<a>" * 100_000, XML)
@example(b'<?xml version="1.0" encoding="rot13"?><a><b/></a>', XML)
@example(b"MSH", HL7)
@example(b"MSH|||", HL7)
def test_any_bytes_are_read_or_refused_and_break_nothing(
    body: bytes, content_type: str
) -> None:
    verdict, _, text = outcome(Sample("any", content_type, body), ()).partition(": ")
    assert verdict not in ("KeyError", "IndexError")
    assert text


@pytest.mark.skipif(not REAL_MESSAGES.is_dir(), reason="no messages beside the project")
def test_real_messages_are_read_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(in_folder(REAL_MESSAGES))
    counts = Counter(outcome(one).partition(":")[0] for one in found)
    with capsys.disabled():
        print(f"\n{len(found)} real messages: {dict(counts)}")
    assert counts["read"] > len(found) * 0.9


def test_customers_are_known_from_when_they_are_entered(
    settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    assert customers.known() == set(KNOWN_CUSTOMERS)

    call_command("seed_demo", "--mend")

    assert customers.known() == {*KNOWN_CUSTOMERS, *LATE_CUSTOMERS}


@pytest.mark.django_db
def test_seeding_twice_makes_the_places_once_and_the_messages_twice() -> None:
    for _ in range(2):
        call_command("seed_demo", "--rate=0", "--count=7")

    assert Message.objects.filter(address="intake", producer="seed_demo").count() == 14
    assert Queue.objects.get(name="DLQ").address == Address.objects.get(name="DLQ")
    assert AddressSetting.objects.get(match="intake").dead_letter_address == "DLQ"


@pytest.mark.django_db
def test_seeding_makes_what_the_pages_show_once() -> None:
    for _ in range(2):
        call_command("seed_demo", "--rate=0", "--count=4")

    assert sorted(Link.objects.values_list("name", flat=True)) == [
        "confirmed",
        "parcels",
    ]
    assert RecurringMessage.objects.get().address == "intake"
    assert Approval.objects.get().operation.scope == "all messages on refunds"
    assert Operation.objects.get().items.count() == 5
    assert Message.objects.filter(address="shipping").count() == 2
    tasks = Message.objects.filter(properties__task="send_receipt")
    assert [message.address for message in tasks] == ["receipts"] * 2


@pytest.mark.django_db
def test_a_report_is_run_once_there_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_demo, "REPORT_AFTER", 2)

    for _ in range(2):
        call_command("seed_demo", "--rate=0", "--count=3")

    assert ReportRun.objects.get().report == "dead-letters"


def test_a_receipt_without_an_address_fails() -> None:
    send_receipt(11)
    with pytest.raises(LookupError, match="the customer of order 12 has no e-mail"):
        send_receipt(12)


@pytest.mark.django_db
def test_seeding_leaves_what_somebody_has_set() -> None:
    AddressSetting.objects.create(match="#", max_delivery_attempts=7)

    call_command("seed_demo", "--rate=0", "--count=1")

    assert AddressSetting.objects.get(match="#").max_delivery_attempts == 7


@pytest.mark.django_db
def test_seeding_forever_begins_again(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "one.JSON").write_bytes(b'{"a": 1}')
    (tmp_path / "README.md").write_text("not a message")

    call_command("seed_demo", f"--dir={tmp_path}", "--forever", "--rate=0", "--count=3")

    sent = Message.objects.filter(producer="seed_demo")
    assert [message.properties for message in sent] == [{"file": "inner/one.JSON"}] * 3


@pytest.mark.django_db
def test_seeding_from_a_folder_without_messages_says_so(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no messages in"):
        call_command("seed_demo", f"--dir={tmp_path}")


@pytest.mark.django_db
def test_an_early_order_dies_is_resubmitted_once_its_customer_is_known_and_is_read(
    settings: Settings, tmp_path: Path, admin_user: User
) -> None:
    settings.VAR_DIR = tmp_path
    early = next(sample for sample in SAMPLES if "4711" in sample.trouble)
    make_places()
    put("intake", early.body, content_type=early.content_type, now=NOON)

    for attempt in range(3):  # each delay is over within a minute
        with pytest.raises(LookupError, match="customer 4711 is not known yet"):
            consume("intake", receive, NOON + minutes(attempt))
    dead = DeadLetter.objects.get()
    customers.enter(LATE_CUSTOMERS)
    operations.start(plan_resubmit(admin_user, "early orders").pk)
    again = consume("intake", receive, NOON + minutes(9))
    passed_on = consume("parsed", note, NOON + minutes(9))

    assert dead.error == "LookupError: customer 4711 is not known yet"
    assert again.body == early.body
    assert b"of customer 4711" in passed_on.body


def consume(queue: str, handle: Handle, now: datetime) -> Delivery:
    """Run a handler as a dispatcher would, at a time of the test's choosing."""
    with unit_of_work(now=now) as work:
        (delivery,) = work.get(queue)
        handle(delivery, work)
    return delivery
