"""Three roles as Django groups; each includes the rights of the role before it.

A role has permissions, which open pages, and authorities, which the broker checks on
each queue. The groups are made after each migration, because permissions are. Users are
put into groups under Settings. Rights that an administrator adds to a group are kept.

An administrator may also take authorities away, for example replace ``#`` of the
operators by single queues, or by none. Authorities are therefore granted only once:
when the group is created, or, for an older group, when the table of authorities is
created. An authority that an upgrade adds to the table is granted once too, when its
column is added, to the rows of roles on ``#``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.apps import AppConfig
from django.apps import apps as applications
from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import router
from django.db.migrations import AddField, CreateModel, Migration
from django.db.migrations.operations.base import Operation
from django.db.models import Q

from broker.security import authorities
from broker.security.users import IS_DJANGOS, User

VIEWER = {
    "broker.view_queue",
    "broker.view_link",
    "dashboards.view_report",
}
AUDITOR = VIEWER | {"broker.view_auditrecord"}  # the audit; read only
OPERATOR = VIEWER | {
    "broker.browse_queue",  # reads bodies, which may hold personal data
    "broker.resubmit_message",
    "broker.pause_queue",
    "broker.close_clientconnection",
    "broker.operate_link",
    "broker.put_recurringmessage",
    "broker.operate_alert",
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
        "broker.change_credential",  # for revoking; no other field is changed
        "broker.change_ruletable",
        "broker.decide_branch",
    }
    | {
        f"{model[0]}.{action}_{model[1]}"
        for model in (
            ("broker", "address"),
            ("broker", "addresssetting"),
            ("broker", "alertrule"),
            ("broker", "alerttarget"),
            ("broker", "authority"),
            ("broker", "bridge"),
            ("broker", "bridgedestination"),
            ("broker", "connectionfactory"),
            ("broker", "deadmessagequeue"),
            ("broker", "link"),
            ("broker", "modelqueue"),
            ("broker", "queue"),
            ("broker", "queuealias"),
            ("broker", "recurringmessage"),
            ("broker", "redactionrule"),
            ("auth", "group"),
            ("django_celery_beat", "crontabschedule"),  # schedules of reports
            ("django_celery_beat", "periodictask"),
        )
        for action in ("add", "change", "delete", "view")
    }
    # A project with a user model of its own changes its users in its own admin.
    | {
        f"{User._meta.app_label}.{action}_{User._meta.model_name}"
        for action in (("add", "change", "delete", "view") if IS_DJANGOS else ("view",))
    }
)
ROLES = {
    "viewer": VIEWER,
    "auditor": AUDITOR,
    "operator": OPERATOR,
    "administrator": ADMINISTRATOR,
}
AUTHORITIES: dict[str, tuple[authorities.Authority, ...]] = {  # granted on every queue
    "viewer": ("inquire",),
    "auditor": ("inquire",),
    # Includes set, which pausing a queue needs. Does not include unmask.
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
    """Grant the roles their permissions in one application; a ``post_migrate``
    receiver.

    Django's own receiver creates the permissions and may run later than this one.
    """
    if app_config.label not in {name.split(".")[0] for name in ADMINISTRATOR}:
        return
    try:
        groups = apps.get_model("auth", "Group").objects.using(using)
        permissions = apps.get_model("auth", "Permission").objects.using(using)
    except LookupError:  # the migrations have not reached these models yet
        return
    # the groups are in another database
    if not router.allow_migrate_model(using, groups.model):
        return
    create_permissions(app_config, 0, using=using, apps=apps, **rest)
    for name, role in ROLES.items():
        wanted = Q(pk__in=[])
        for label, codename in (permission.split(".") for permission in role):
            if label == app_config.label:
                wanted |= Q(content_type__app_label=label, codename=codename)
        group, is_new = groups.get_or_create(name=name_of(name))
        group.permissions.add(*permissions.filter(wanted))
        authorize(group, AUTHORITIES[name], using, apps, None if is_new else plan)


def name_of(role: str) -> str:
    """The name of the group that has a role."""
    return f"{settings.BACKOUT_ROLE_PREFIX}{role}"


def authorize(
    group: Any,
    role: Iterable[authorities.Authority],
    using: str,
    apps: Apps,
    plan: Plan | None,
) -> None:
    """Grant a role its authorities on every queue, if the table exists yet.

    Args:
        role: its authorities.
        plan: the migrations that ran; None if the group is new.
    """
    try:
        rows = apps.get_model("broker", "Authority").objects.using(using)
    except LookupError:  # a later migration creates the table of authorities
        return
    if not router.allow_migrate_model(using, rows.model):
        return
    columns = {one.name for one in rows.model._meta.get_fields()}
    granted = {authorities.FIELDS[one] for one in role} & columns
    if plan is None or makes_authorities(plan):
        all_of_them = dict.fromkeys(granted, True)
        rows.get_or_create(group_id=group.pk, pattern=EVERY_QUEUE, defaults=all_of_them)
    elif added := granted & added_authorities(plan):
        row = rows.filter(group_id=group.pk, pattern=EVERY_QUEUE)
        row.update(**dict.fromkeys(added, True))


def makes_authorities(plan: Plan) -> bool:
    """Whether these migrations created the table of authorities."""
    return any(
        isinstance(one, CreateModel) and one.name == "Authority" for one in done(plan)
    )


def added_authorities(plan: Plan) -> set[str]:
    """Columns that these migrations added to the table of authorities."""
    return {
        one.name
        for one in done(plan)
        if isinstance(one, AddField) and one.model_name_lower == "authority"
    }


def done(plan: Plan) -> Iterator[Operation]:
    """The operations of these migrations on the broker's tables."""
    for migration, was_undone in plan:
        if migration.app_label == "broker" and not was_undone:
            yield from migration.operations
