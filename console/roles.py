"""Who may do what: three roles, as groups, each with all that the one before it may.

The groups are made after every migration, because permissions are. People are put into
them under Settings; a group that an administrator has given more keeps it.
"""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as applications
from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.db.models import Q

VIEWER = {
    "broker.view_queue",
    "dashboards.view_report",
}
OPERATOR = VIEWER | {
    "broker.browse_queue",  # reads bodies, which may hold what is nobody's business
    "broker.resubmit_message",
    "broker.pause_queue",
    "dashboards.run_report",
}
ADMINISTRATOR = OPERATOR | {
    f"{model[0]}.{action}_{model[1]}"
    for model in (
        ("broker", "address"),
        ("broker", "addresssetting"),
        ("broker", "queue"),
        ("auth", "user"),
        ("auth", "group"),
    )
    for action in ("add", "change", "delete", "view")
}
ROLES = {"viewer": VIEWER, "operator": OPERATOR, "administrator": ADMINISTRATOR}


def grant(
    *,
    app_config: AppConfig,
    using: str,
    apps: Apps = applications,
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
        group, _ = groups.get_or_create(name=name)
        group.permissions.add(*permissions.filter(wanted))
