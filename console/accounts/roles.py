"""Who may do what: three roles, as groups, each with all that the one before it may.

A role has permissions, which open pages, and authorities, which the broker asks for on
each queue. The groups are made after every migration, because permissions are. People
are put into them under Settings; a group that an administrator has given more keeps it.

Authorities can also be narrowed: an administrator who takes ``#`` from the operators,
to give them some queues by name or none, means it. So they are not made after every
migration, nor where a group has none, but once: with the group, or with the table of
authorities where the group is older. What is taken away then stays away. An authority
that an upgrade adds to the table is given once, too: with its column, to the rows of
roles on ``#``, as a new installation has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.apps import apps as applications
from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.models import Q

from broker.security import authorities

VIEWER = {
    "broker.view_queue",
    "broker.view_link",
    "dashboards.view_report",
}
AUDITOR = VIEWER | {"broker.view_auditrecord"}  # who did what; nothing that changes
OPERATOR = VIEWER | {
    "broker.browse_queue",  # reads bodies, which may hold what is nobody's business
    "broker.resubmit_message",
    "broker.pause_queue",
    "broker.close_clientconnection",
    "broker.operate_link",
    "dashboards.run_report",
}
ADMINISTRATOR = (
    OPERATOR
    | {
        "broker.approve_operation",
        "broker.view_auditrecord",
        "broker.view_subscription",
        "broker.view_credential",
        "broker.add_credential",
        "broker.change_credential",  # to revoke it: nothing else of it changes
        "broker.change_ruletable",
        "broker.decide_branch",
    }
    | {
        f"{model[0]}.{action}_{model[1]}"
        for model in (
            ("broker", "address"),
            ("broker", "addresssetting"),
            ("broker", "authority"),
            ("broker", "bridge"),
            ("broker", "bridgedestination"),
            ("broker", "connectionfactory"),
            ("broker", "deadmessagequeue"),
            ("broker", "link"),
            ("broker", "modelqueue"),
            ("broker", "queue"),
            ("broker", "queuealias"),
            ("broker", "redactionrule"),
            ("auth", "user"),
            ("auth", "group"),
            ("django_celery_beat", "crontabschedule"),  # when reports run
            ("django_celery_beat", "periodictask"),
        )
        for action in ("add", "change", "delete", "view")
    }
)
ROLES = {
    "viewer": VIEWER,
    "auditor": AUDITOR,
    "operator": OPERATOR,
    "administrator": ADMINISTRATOR,
}
AUTHORITIES: dict[str, tuple[authorities.Authority, ...]] = {  # on every queue
    "viewer": ("inquire",),
    "auditor": ("inquire",),
    # Also set: it is what pausing a queue needs. What is masked is not theirs to see.
    "operator": tuple(one for one in authorities.ALL if one != "unmask"),
    "administrator": authorities.ALL,
}
EVERY_QUEUE = "#"
Plan = Sequence[tuple[Migration, bool]]  # a migration, and whether it was undone


def grant(
    *,
    app_config: AppConfig,
    using: str,
    apps: Apps = applications,
    plan: Plan = (),
    verbosity: int = 0,
    **rest: Any,
) -> None:
    """Give the roles what they may do in one application; a ``post_migrate`` receiver.

    The permissions themselves are made by another receiver, which may come later.
    """
    if app_config.label not in {name.split(".")[0] for name in ADMINISTRATOR}:
        return
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
        permissions = apps.get_model("auth", "Permission").objects.using(using)
    except LookupError:  # migrated only as far as some earlier application
        return
    create_permissions(app_config, 0, using=using, apps=apps, **rest)
    for name, role in ROLES.items():
        wanted = Q(pk__in=[])
        for label, codename in (permission.split(".") for permission in role):
            if label == app_config.label:
                wanted |= Q(content_type__app_label=label, codename=codename)
        group, is_new = groups.get_or_create(name=name)
        group.permissions.add(*permissions.filter(wanted))
        authorize(group, using, apps, None if is_new else plan)


def authorize(group: Any, using: str, apps: Apps, plan: Plan | None) -> None:
    """Give a role its authorities on every queue, as far as there are any yet.

    Args:
        plan: what was migrated; None where the group is new.
    """
    try:
        rows = apps.get_model("broker", "Authority").objects.using(using)
    except LookupError:  # they come with a later migration
        return
    columns = {one.name for one in rows.model._meta.get_fields()}
    granted = {authorities.FIELDS[one] for one in AUTHORITIES[group.name]} & columns
    if plan is None or makes_authorities(plan):
        all_of_them = dict.fromkeys(granted, True)
        rows.get_or_create(group_id=group.pk, pattern=EVERY_QUEUE, defaults=all_of_them)
    elif added := granted & added_authorities(plan):
        row = rows.filter(group_id=group.pk, pattern=EVERY_QUEUE)
        row.update(**dict.fromkeys(added, True))


def makes_authorities(plan: Plan) -> bool:
    """Whether the table of authorities was made by these migrations."""
    return any(
        isinstance(one, CreateModel) and one.name == "Authority" for one in done(plan)
    )


def added_authorities(plan: Plan) -> set[str]:
    """The columns that these migrations added to the table of authorities."""
    return {
        one.name
        for one in done(plan)
        if isinstance(one, AddField) and one.model_name_lower == "authority"
    }


def done(plan: Plan) -> Iterator[Operation]:
    """What these migrations did to the broker's tables."""
    for migration, was_undone in plan:
        if migration.app_label == "broker" and not was_undone:
            yield from migration.operations
