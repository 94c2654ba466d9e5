"""The tests of a user's project run, with the wheel, and whatever its settings are.

Its environment is the core, pytest and django-tasks: no Redis, no Celery, no console.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests import installed, users_project
from tests.installed import Project

pytestmark = pytest.mark.thorough

DATABASE = f"users_{os.getpid()}"
OF_TESTS = [f"test_{DATABASE}_{alias}" for alias in ("default", "warehouse")]
# Another user model, no time zones, small keys, and a schema of its own.
UNUSUAL = "users local small schema"
LEFT_OUT = """
import django
from django.core.management import CommandError, call_command

django.setup()
try:
    call_command("migrate")
except CommandError as error:
    print(error)
"""
FLUSH = """
import sys
from io import StringIO

import django
from django.apps import apps
from django.core.management import call_command

django.setup()
from broker.client import put, unit_of_work
from broker.models import AuditRecord
from trade.queues import declare_queues


def rows():
    for model in apps.get_app_config("broker").get_models():
        if model is not AuditRecord:
            for row in model._base_manager.order_by("pk").values_list():
                yield model.__name__, [one for one in row if not hasattr(one, "hour")]


call_command("migrate", verbosity=0)
migrated = list(rows())
declare_queues()
put("mail", b"hello", properties={"to": "ada"})
dumped = StringIO()
call_command("dumpdata", "broker", exclude=["broker.auditrecord"], stdout=dumped)
call_command("flush", interactive=False)
assert list(rows()) == migrated
assert AuditRecord.objects.latest("pk").act == "database.flush"

sys.stdin = StringIO(dumped.getvalue())
call_command("loaddata", "-", format="json")
with unit_of_work() as work:
    (one,) = work.get("mail", 10)
    print(one.body, one.properties)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    place = tmp_path_factory.mktemp("users")
    wheel = installed.build(place)
    python = installed.environment(place / "venv", wheel, beside=users_project.PACKAGES)
    made = Project(place / "project", python)
    users_project.create(made)
    yield made
    for name in (DATABASE, *OF_TESTS, *(f"{one}_gw0" for one in OF_TESTS)):
        installed.recreate(name, create=False)


def run(project: Project, *command: str, varied: str = "") -> str:
    """What a command prints, which must end well."""
    options = {"DATABASE": DATABASE, "DJANGO_SETTINGS_MODULE": "shop.settings"}
    return installed.ended(project.start(*command, VARIED=varied, **options))


def run_tests(project: Project, *command: str, varied: str = "") -> None:
    run(project, "manage.py", "test", "--noinput", *command, varied=varied)


def test_with_unusual_settings_in_processes_on_cloned_databases(
    project: Project,
) -> None:
    run_tests(project, "--parallel=2", varied=f"router {UNUSUAL}")


def test_with_the_broker_in_two_databases_that_are_kept(project: Project) -> None:
    run_tests(project, "--keepdb")
    run_tests(project, "--keepdb", "trade.tests.CommitsOnBoth", "trade.tests.Orders")


def test_by_pytest_in_a_process_of_its_own_on_databases_that_are_kept(
    project: Project,
) -> None:
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--reuse-db", "-n1")
    run(project, *command, "trade/test_pytest.py")
    run(project, *command, "-k", "commits", "trade/test_pytest.py")


def test_without_migrations(project: Project) -> None:
    labels = ("trade.tests.PlainCommits", "trade.tests.Orders")
    run_tests(project, *labels, varied="unmigrated")


def test_to_leave_out_the_migrations_of_the_broker_alone_is_refused(
    project: Project,
) -> None:
    installed.recreate(DATABASE)
    refused = run(project, "-c", LEFT_OUT, varied="left_out")
    assert "Take 'broker' out of MIGRATION_MODULES" in refused


def test_a_flush_leaves_what_migrations_make_and_a_dump_is_loaded_again(
    project: Project,
) -> None:
    installed.recreate(DATABASE)
    assert run(project, "-c", FLUSH).endswith("b'hello' {'to': 'ada'}\n")
