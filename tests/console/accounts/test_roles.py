"""What the roles may do, and that what was taken from them stays away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.apps.registry import Apps
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import models
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.test import override_settings
from django_celery_beat.models import PeriodicTask

from broker.models import Authority
from broker.security import authorities
from console.accounts import roles

pytestmark = pytest.mark.django_db

RIGHTS = Path(__file__).parents[3] / "docs" / "rights.md"
MAKES_AUTHORITIES = CreateModel("Authority", [])
ADDS_UNMASK = AddField("authority", "may_unmask", models.BooleanField(default=False))


def member(role: str) -> User:
    user = User.objects.create_user(role)
    user.groups.add(Group.objects.get(name=role))
    return user


def migrated(*operations: Operation, undone: bool = False) -> None:
    """What follows a migration of the broker that does this."""
    kind = type("Migration", (Migration,), {"operations": list(operations)})
    migration = kind("0002_made_up", "broker")
    emit_post_migrate_signal(
        verbosity=0,
        interactive=False,
        db="default",
        apps=apps,
        plan=[(migration, undone)],
    )


class Elsewhere:
    """A router of a project whose default database has none of these applications."""

    def allow_migrate(self, *_: object, **__: object) -> bool:
        return False


@override_settings(DATABASE_ROUTERS=[Elsewhere()])
def test_a_database_that_is_to_have_no_groups_gets_none_nor_schedules() -> None:
    Group.objects.all().delete()
    PeriodicTask.objects.all().delete()

    migrated()

    assert not Group.objects.exists()
    assert not PeriodicTask.objects.exists()


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize(
    ("role", "granted"),
    [
        ("viewer", {"inquire"}),
        ("auditor", {"inquire"}),
        ("operator", {"inquire", "browse", "get", "put", "passall", "set"}),
        ("administrator", set(authorities.ALL)),
    ],
)
def test_a_role_is_a_bundle_of_authorities_on_every_queue(
    role: str, granted: set[str]
) -> None:
    user = member(role)

    for queue in ("orders", "eu.orders.new", "SYSTEM.DEAD.LETTER.QUEUE"):
        assert granted == {
            one for one in authorities.ALL if authorities.may(user, one, queue)
        }


def told(heading: str) -> Iterator[tuple[str, dict[str, bool]]]:
    """What a table of the page on rights says: whether each role has it, by name."""
    part = RIGHTS.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [row.strip("| ").split(" | ") for row in re.findall(r"^\|.*$", part, re.M)]
    (_, _, *names), _, *rows = rows
    for name, _, *cells in rows:
        has = [cell != "–" for cell in cells]
        yield name.strip("`"), dict(zip(names, has, strict=True))


def test_the_page_on_rights_says_which_permissions_the_roles_have() -> None:
    said: dict[str, set[str]] = {role: set() for role in roles.ROLES}
    for name, has in told("What each role may"):
        for action in ("add", "change", "delete", "view") if "*" in name else ("",):
            for role in [role for role, is_had in has.items() if is_had]:
                said[role].add(name.replace("*", action))

    assert said == {name: set(role) for name, role in roles.ROLES.items()}


def test_the_page_on_rights_says_which_authorities_the_roles_have() -> None:
    rows = dict(told("On which queues"))

    assert rows == {
        one: {role: one in roles.AUTHORITIES[role] for role in roles.ROLES}
        for one in authorities.ALL
    }


def test_each_role_may_what_the_one_before_it_may() -> None:
    steps = ("viewer", "operator", "administrator")
    bundles = [set(roles.AUTHORITIES[role]) for role in steps]
    viewer, operator, administrator = (roles.ROLES[role] for role in steps)

    assert bundles == sorted(bundles, key=len)
    assert viewer < operator < administrator


def test_an_auditor_sees_the_audit_and_changes_nothing() -> None:
    assert roles.ROLES["auditor"] - roles.VIEWER == {"broker.view_auditrecord"}
    assert roles.AUTHORITIES["auditor"] == roles.AUTHORITIES["viewer"]
    assert "broker.view_auditrecord" in roles.ADMINISTRATOR - roles.OPERATOR


@pytest.mark.parametrize("permission", sorted(roles.ADMINISTRATOR))
def test_every_permission_of_a_role_exists(permission: str) -> None:
    assert member("administrator").has_perm(permission)


@pytest.mark.parametrize("change", ["narrowed", "taken away"])
def test_what_an_administrator_takes_from_a_role_stays_away(change: str) -> None:
    own = Authority.objects.filter(group__name="operator")
    if change == "narrowed":
        own.update(pattern="orders.#")
    else:
        own.delete()
    before = list(Authority.objects.values())

    call_command("migrate", verbosity=0)
    migrated()
    migrated(MAKES_AUTHORITIES, undone=True)

    assert list(Authority.objects.values()) == before


def test_groups_that_are_older_than_authorities_get_theirs_with_the_table() -> None:
    Authority.objects.all().delete()

    migrated(MAKES_AUTHORITIES)

    rows = Authority.objects.values_list("group__name", "pattern", "may_set")
    assert set(rows) == {
        ("viewer", "#", False),
        ("auditor", "#", False),
        ("operator", "#", True),
        ("administrator", "#", True),
    }


def test_roles_get_an_authority_that_an_upgrade_brings() -> None:
    """Nobody else does: neither groups of one's own, nor a role that was narrowed."""
    own = Group.objects.create(name="night shift")
    Authority.objects.create(group=own, pattern="#", may_browse=True)
    Authority.objects.filter(group__name="auditor").update(pattern="orders.#")
    Authority.objects.filter(group__name="administrator").update(may_put=False)
    Authority.objects.update(may_unmask=False)  # as the column comes

    migrated(ADDS_UNMASK)

    rows = Authority.objects.values_list("group__name", "may_unmask", "may_put")
    assert set(rows) == {
        ("viewer", False, False),
        ("auditor", False, False),
        ("operator", False, True),
        ("administrator", True, False),
        ("night shift", False, False),
    }


def test_what_an_upgrade_brought_and_somebody_took_away_stays_away() -> None:
    Authority.objects.filter(group__name="administrator").update(may_unmask=False)

    call_command("migrate", verbosity=0)
    migrated()
    migrated(ADDS_UNMASK, undone=True)

    assert not Authority.objects.filter(may_unmask=True).exists()


def test_a_role_that_was_deleted_comes_back_whole() -> None:
    Group.objects.get(name="viewer").delete()

    migrated()

    (row,) = Authority.objects.filter(group__name="viewer")
    assert (row.pattern, row.may_inquire, row.may_browse) == ("#", True, False)


def test_where_there_is_no_table_of_authorities_yet_roles_are_made_without() -> None:
    """Somebody migrates to an earlier state, or only so far."""
    Group.objects.all().delete()
    earlier = Apps(["django.contrib.auth", "django.contrib.contenttypes"])
    for model in (Group, Permission):
        earlier.register_model("auth", model)

    roles.grant(app_config=apps.get_app_config("auth"), using="default", apps=earlier)

    assert Group.objects.count() == len(roles.ROLES)
    assert not Authority.objects.exists()
