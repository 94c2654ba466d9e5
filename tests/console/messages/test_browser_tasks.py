"""Tasks that failed, of Django and of Celery: somebody corrects their arguments in a
browser, and they succeed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from celery.result import AsyncResult
from django.conf import settings as project
from django.contrib.auth.hashers import make_password
from kombu import pools
from playwright.sync_api import Page, expect

from broker.client.django_tasks.framework import TaskResultStatus
from broker.models import DeadLetter, Message
from console.accounts import roles
from tests.amqp.launching import database_url
from tests.broker.client import sample_tasks
from tests.celery_peer.app import add, app
from tests.console.browsing import opened, sign_in
from tests.console.until import until
from tests.make import make_setting, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

TASKS = {"default": {"BACKEND": "broker.client.django_tasks.BackoutBackend"}}
DISPATCHER = f"""
import django
from django.conf import settings
settings.TASKS = {TASKS!r}
settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "tests.broker.client"]
django.setup()
from django.core.management import call_command
call_command("broker_dispatch", "--queue=default")
"""
CELERY = ("-m", "celery", "-A", "tests.celery_peer.app", "worker", "-c", "1")


@pytest.fixture(autouse=True)
def _omar_operates(transactional_db: None, settings: Any) -> None:
    omar = make_user(
        "omar",
        permissions=tuple(roles.ROLES["operator"]),
        granted=roles.AUTHORITIES["operator"],
    )
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_setting("#", dead_letter_address="DLQ", auto_create_dead_letter_resources=True)
    settings.TASKS = TASKS


@contextmanager
def program(*arguments: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=project.BASE_DIR,
        env=os.environ
        | {"DATABASE_URL": database_url(), "REDIS_URL": project.REDIS_URL},
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def dead_letter() -> int:
    """The number of the only message that died, when there is one."""
    until(DeadLetter.objects.exists, seconds=60)
    found = Message.objects.get(pk=DeadLetter.objects.get().message_id)
    return found.first_id or found.pk


def correct(site: str, number: int, task: str, wrong: str, right: str) -> None:
    """From the page of tasks: correct an argument of the dead one; send it again."""
    with opened(site) as page:
        sign_in(page, "/tasks/")
        row = page.get_by_role("row", name=task)
        row.get_by_role("link", name="1", exact=True).first.click()
        page.get_by_role("link", name=str(number), exact=True).first.click()
        look(page, f"{task}-dead")
        page.get_by_role("link", name="Repair…").click()
        body = page.get_by_role("textbox", name="Body")
        body.fill(body.input_value().replace(wrong, right))
        page.get_by_role("button", name="Preview").click()
        look(page, f"{task}-preview")
        page.get_by_role("button", name="Send it to").click()
        expect(page.get_by_text(f"Message {number} was repaired")).to_be_visible()
        look(page, f"{task}-sent")
        expect(page.get_by_text("accepted").first).to_be_visible()
        look(page, f"{task}-done")


def look(page: Page, name: str) -> None:
    if folder := os.environ.get("LOOK"):
        page.screenshot(path=Path(folder) / f"{name}.png", full_page=True)


def test_a_task_of_django_succeeds_with_other_arguments(site: str) -> None:
    result = sample_tasks.charge.enqueue("declined")
    with program("-c", DISPATCHER):
        number = dead_letter()
        correct(site, number, "charge", '"declined"', '"paid"')
        until(lambda: told(result) == TaskResultStatus.SUCCESSFUL, seconds=60)
    assert result.return_value == "paid"


def told(result: Any) -> Any:
    result.refresh()
    return result.status


def test_a_task_of_celery_succeeds_with_other_arguments(site: str) -> None:
    app.conf.result_backend = project.REDIS_URL.replace("unix:", "redis+socket:")
    sent: AsyncResult = add.delay(1, "two")
    try:
        with program(*CELERY):
            number = dead_letter()
            correct(site, number, "add", '"two"', "2")
            until(lambda: AsyncResult(sent.id, app=app).result == 3, seconds=60)
    finally:
        pools.reset()
        app._after_fork()
