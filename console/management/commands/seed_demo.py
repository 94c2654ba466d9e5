"""Puts sample messages: processed, backed out, delayed, dead-lettered."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from itertools import count as counting
from itertools import islice
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from broker.checks import BROKER
from broker.models import Act, Address, AddressSetting, Queue
from broker.queueing.put import put, put_many
from broker.security import audit
from broker.security.audit import Thing
from console.demo import customers, objects, payments
from console.demo.messages import (
    LATE_CUSTOMERS,
    TYPE_BY_SUFFIX,
    Sample,
    in_folder,
    samples,
)
from console.demo.reading import JSON
from console.demo.receipts import send_receipt

PAYMENTS_EVERY = 60  # a round of payments after so many messages
PARCELS_EVERY = 4  # a parcel and a receipt, each after so many messages
REPORT_AFTER = 120  # so many messages are enough for a report
QUEUES = ("intake", "parsed", "DLQ")  # queues, each fed by the address of the same name
SETTINGS: dict[str, dict[str, Any]] = {  # address settings by pattern
    "intake": {  # short delays, so that users can watch each redelivery
        "max_delivery_attempts": 3,
        "dead_letter_address": "DLQ",
        "redelivery_delay_ms": 2_000,
        "redelivery_delay_multiplier": 2.0,
        "redelivery_collision_avoidance_factor": 0.15,
        "max_redelivery_delay_ms": 10_000,
    },
    "DLQ": {"max_delivery_attempts": -1},
}


class Command(BaseCommand):
    help = (
        "Put messages of three kinds on the address intake, and payments on another,"
        " some of them broken, and create the queues and settings to watch what"
        " becomes of them. They are read where the dispatcher runs with"
        " BACKOUT_DEMO=1. Stop it with Ctrl-C."
    )
    requires_system_checks = [BROKER]

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dir",
            dest="folder",
            type=Path,
            help="send the files of this directory instead of the built-in messages",
        )
        parser.add_argument("--count", type=int, help="stop after this many messages")
        parser.add_argument(
            "--rate",
            type=float,
            help="messages a second; 0: no pause (default: 20, or 1 with --forever)",
        )
        parser.add_argument(
            "--forever", action="store_true", help="start again after the last message"
        )
        parser.add_argument(
            "--mend",
            action="store_true",
            help="enter the customers that some orders came too early for, so that"
            " their dead letters can be resubmitted; sends nothing",
        )

    def handle(
        self,
        *,
        folder: Path | None,
        count: int | None,
        rate: float | None,
        forever: bool,
        mend: bool,
        **_: object,
    ) -> None:
        if mend:
            customers.enter(LATE_CUSTOMERS)
            self.say(
                f"Customers {', '.join(LATE_CUSTOMERS)} are known now. Resubmit the"
                " dead letters that name them, and they are read."
            )
            return

        audit.record(Act.FILL, Thing("queue", "", "intake"), reason="the demo")
        make_places()
        chosen = islice(turns(folder, counting() if forever else [0]), count)
        if rate is None:
            rate = 1 if forever else 20
        sent = self.send(chosen, rate)
        self.say(f"Put {sent} messages on intake, and some on {payments.INTO}.")

    def send(self, chosen: Iterable[Sample], rate: float) -> int:
        sent, started = 0, time.monotonic()
        rounds = counting()
        try:
            for sample in chosen:
                if sent % PAYMENTS_EVERY == 0:
                    put_many(list(payments.payments(next(rounds))))
                put(
                    "intake",
                    sample.body,
                    content_type=sample.content_type,
                    properties={"file": sample.name},
                    producer="seed_demo",
                )
                sent += 1
                if sent % PARCELS_EVERY == 0:
                    body = f'{{"parcel": {sent}}}'.encode()
                    put("shipping", body, content_type=JSON, producer="shop")
                    put("newsletter", str(sent).encode(), producer="shop")
                    send_receipt.delay(sent)
                if sent == REPORT_AFTER:
                    objects.run_report()
                if rate:
                    time.sleep(max(started + sent / rate - time.monotonic(), 0))
        except KeyboardInterrupt:
            self.stderr.write("Stopped.")
        return sent

    def say(self, sentence: str) -> None:
        self.stdout.write(self.style.SUCCESS(sentence))


def make_places() -> None:
    """Create missing addresses and queues; leave existing ones unchanged."""
    for name in QUEUES:
        address, _ = Address.objects.get_or_create(name=name)
        Queue.objects.get_or_create(name=name, defaults={"address": address})
    for pattern, values in SETTINGS.items():
        AddressSetting.objects.get_or_create(match=pattern, defaults=values)
    payments.make_places()
    objects.make_objects()


def turns(folder: Path | None, numbers: Iterable[int]) -> Iterator[Sample]:
    """The samples of all rounds, in order."""
    for turn in numbers:
        sent = samples(turn) if folder is None else list(in_folder(folder))
        if not sent:
            raise CommandError(
                f"There are no messages in {folder}: no file there ends in"
                f" {', '.join(TYPE_BY_SUFFIX)}."
            )
        yield from sent
