"""The dead letter queue that the defaults name is there, whoever starts first."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from pytest_django import Settings

from broker.config import system_queues
from broker.config.lint import advice
from broker.models import Address, Queue, QueueAlias
from broker.queueing import processes
from broker.settlement import hardening
from console.runtime import first_run
from tests.console.until import until
from tests.make import make_queue

DLQ = "SYSTEM.DEAD.LETTER.QUEUE"


def codes() -> list[str]:
    return [one.code for one in advice()]


def is_alone() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            processes.OTHERS,
            (processes.LOCK_CLASS, processes.STARTING, processes.NAME),
        )
        return not cursor.fetchall()


@pytest.fixture
def _first_process(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """What a process of a project does at its start; tests leave a part of it out."""
    wanted = [system_queues.make_missing, hardening.forget_counts]
    monkeypatch.setattr(processes, "AT_START", wanted)
    processes.resign()
    until(is_alone)  # sessions of tests before this one may still end
    yield
    processes.resign()


@pytest.mark.django_db
def test_migrate_makes_the_dead_letter_queue() -> None:
    assert codes() == ["no-dead-letter-queue"]

    call_command("migrate", verbosity=0)
    call_command("migrate", verbosity=0)

    assert codes() == []
    assert Queue.objects.get().address == Address.objects.get(name=DLQ)


@pytest.mark.usefixtures("_first_process")
def test_the_first_process_makes_it_where_it_is_missing() -> None:
    processes.current()
    assert codes() == []


def test_applications_that_are_made_ready_again_start_nothing_twice() -> None:
    before = list(processes.AT_START)
    apps.get_app_config("broker").ready()
    assert before == processes.AT_START


@pytest.mark.django_db
def test_a_queue_that_the_project_names_is_declared_by_the_project(
    settings: Settings,
) -> None:
    settings.BROKER_DEAD_LETTER_QUEUE = "elsewhere"
    system_queues.make_missing()
    assert not Queue.objects.exists()
    assert codes() == ["no-dead-letter-queue"]


@pytest.mark.django_db
def test_what_has_the_name_stays_as_it_is() -> None:
    kept = make_queue(DLQ, address="letters", max_depth=7)
    system_queues.make_missing()
    assert Queue.objects.get() == kept

    kept.delete()
    make_queue("letters")
    QueueAlias.objects.create(name=DLQ, target="letters")
    system_queues.make_missing()
    assert Queue.objects.get().name == "letters"
    assert codes() == []


@pytest.mark.django_db
def test_a_new_console_still_gets_its_own_queues() -> None:
    system_queues.make_missing()
    first_run.make_places()
    names = set(Queue.objects.values_list("name", flat=True))
    assert names == {DLQ, "DLQ", "ExpiryQueue"}
