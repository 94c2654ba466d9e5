"""What the roles may do, and that what was taken from them stays away."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.core.management.sql import emit_post_migrate_signal
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from broker import authorities
from broker.models import Authority
from console import roles

pytestmark = pytest.mark.django_db

MADE_AUTHORITIES = "0004_rules_of_ibm_mq"


def member(role: str) -> User:
    user = User.objects.create_user(role)
    user.groups.add(Group.objects.get(name=role))
    return user


def migrated(*names: str, undone: bool = False) -> None:
    """What follows a migration of these."""
    loader = MigrationExecutor(connection).loader
    plan = [(loader.get_migration("broker", name), undone) for name in names]
    emit_post_migrate_signal(
        verbosity=0, interactive=False, db="default", apps=apps, plan=plan
    )


@pytest.mark.spec("POISON-12")
@pytest.mark.parametrize(
    ("role", "granted"),
    [
        ("viewer", {"inquire"}),
        ("operator", {"inquire", "browse", "get", "put", "passall", "set"}),
        ("administrator", {"inquire", "browse", "get", "put", "passall", "set"}),
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


def test_each_role_may_what_the_one_before_it_may() -> None:
    bundles = [set(roles.AUTHORITIES[role]) for role in roles.ROLES]
    permissions = list(roles.ROLES.values())

    assert bundles == sorted(bundles, key=len)
    assert permissions[0] < permissions[1] < permissions[2]


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
    migrated("0003_housekeeping_is_scheduled")
    migrated(MADE_AUTHORITIES, undone=True)

    assert list(Authority.objects.values()) == before


def test_groups_that_are_older_than_authorities_get_theirs_with_the_table() -> None:
    Authority.objects.all().delete()

    migrated("0003_housekeeping_is_scheduled", MADE_AUTHORITIES)

    rows = Authority.objects.values_list("group__name", "pattern", "may_set")
    assert set(rows) == {
        ("viewer", "#", False),
        ("operator", "#", True),
        ("administrator", "#", True),
    }


def test_a_role_that_was_deleted_comes_back_whole() -> None:
    Group.objects.get(name="viewer").delete()

    migrated()

    (row,) = Authority.objects.filter(group__name="viewer")
    assert (row.pattern, row.may_inquire, row.may_browse) == ("#", True, False)


def test_where_there_is_no_table_of_authorities_yet_roles_are_made_without() -> None:
    """Somebody migrates to an earlier state, or only so far."""
    Group.objects.all().delete()
    loader = MigrationExecutor(connection).loader
    earlier = loader.project_state(
        [
            ("auth", "0012_alter_user_first_name_max_length"),
            ("broker", "0003_housekeeping_is_scheduled"),
        ]
    )

    roles.grant(
        app_config=apps.get_app_config("auth"), using="default", apps=earlier.apps
    )

    assert Group.objects.count() == 3
    assert not Authority.objects.exists()
