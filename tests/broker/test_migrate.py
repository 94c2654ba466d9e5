"""Around a migration: which databases are refused, and what is made after it."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django_celery_beat.models import PeriodicTask

from broker.models import (
    Operation,
    OperationItem,
    OperationSchedule,
    StoredResponse,
    TransferredMessage,
)
from tests.broker.bridges.configured_links import make_link
from tests.broker.dying import operator
from tests.make import NOON

pytestmark = pytest.mark.django_db

Outcome = OperationItem.Outcome
BEFORE_RENAMES = "0016_rules_have_more_conditions"

EARLIER = {  # applied by development versions, before 0001_initial was all
    "broker": ["0001_initial", "0007_credentials_remember_who_revoked_them"],
    "console": ["0001_views_are_saved"],
    "dashboards": ["0001_runs_have_results", "0003_depths_are_published"],
}
LAST = {
    "broker": "0016_bridges_have_links",
    "console": "0003_codes_are_tried",
    "dashboards": "0004_the_archive_is_kept_by_day",
}


def migrate(*to: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    call_command("migrate", *to, verbosity=0)


def have_earlier(label: str, names: list[str]) -> None:
    """Record these migrations of an application, and no other."""
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app=label).delete()
    for name in names:
        recorder.record_applied(label, name)


def recorded(label: str) -> set[str]:
    rows = MigrationRecorder(connection).migration_qs.filter(app=label)
    return set(rows.values_list("name", flat=True))


def tables() -> set[str]:
    return set(connection.introspection.table_names())


@pytest.mark.thorough
def test_a_database_with_all_earlier_migrations_is_left_alone() -> None:
    whole = {
        "broker": ["0001_initial", LAST["broker"]],
        "console": [*EARLIER["console"], "0002_sessions_know_whose_they_are"],
        "dashboards": [*EARLIER["dashboards"], "0002_reports_run_at_night"],
    }
    before = tables()
    for label in ("broker", "dashboards"):
        migrate(label, "0001_initial")
    for label, names in whole.items():
        have_earlier(label, [*names, LAST[label]])

    migrate()

    assert tables() == before
    for label in whole:
        assert "0001_initial" in recorded(label)


@pytest.mark.parametrize("label", sorted(EARLIER))
def test_a_database_with_some_earlier_migrations_is_refused(label: str) -> None:
    have_earlier(label, EARLIER[label])

    with pytest.raises(CommandError) as raised:
        migrate()

    sentence = str(raised.value)
    assert f"{label} has {EARLIER[label][-1]}, but not {LAST[label]}" in sentence
    assert "Run `manage.py migrate` of that version to its end" in sentence


def test_a_database_with_only_the_first_earlier_migration_is_refused() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE broker_link RENAME TO set_aside")
    have_earlier("broker", ["0001_initial"])

    with pytest.raises(CommandError, match="broker has 0001_initial, but not 0016_"):
        migrate()


def test_a_schedule_that_is_missing_is_written_and_one_that_was_changed_stays() -> None:
    periodic = PeriodicTask.objects
    (former,) = periodic.filter(name="broker: send due")
    periodic.filter(name="dashboards: reports at night").update(enabled=False)
    count = periodic.count()
    periodic.filter(pk=former.pk).update(name="broker: expire")

    migrate()

    assert periodic.count() == count
    assert periodic.get(name="broker: send due").interval.every == 10
    assert not periodic.get(name="dashboards: reports at night").enabled


def test_models_that_are_renamed_in_python_keep_their_rows() -> None:
    planned = Operation.objects.create(kind="move", scope="all", created_by=operator())
    OperationSchedule.objects.create(operation=planned, pace=7)
    OperationItem.objects.create(
        operation=planned, queue_id=1, message_id=1, outcome=Outcome.DEAD
    )
    StoredResponse.objects.create(asker="user 7", key="k", digest=b"1")
    TransferredMessage.objects.create(link=make_link(), message_id="m", seen_at=NOON)

    migrate("broker", BEFORE_RENAMES)
    former = (
        MigrationLoader(connection).project_state([("broker", BEFORE_RENAMES)]).apps
    )
    assert former.get_model("broker", "Course").objects.get().pace == 7
    assert former.get_model("broker", "OperationItem").objects.get().fate == 2
    assert former.get_model("broker", "KeptAnswer").objects.get().key == "k"
    assert former.get_model("broker", "SeenMessage").objects.get().message_id == "m"

    migrate()
    assert OperationSchedule.objects.get().pace == 7
    assert OperationItem.objects.get().outcome == Outcome.DEAD
    assert StoredResponse.objects.get().key == "k"
    assert TransferredMessage.objects.get().message_id == "m"
