"""The first page of Settings: what can be set, by purpose, each in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

SECTIONS: Mapping[str, Mapping[str, str]] = {  # models with what they are for
    gettext_noop("Queues and addresses"): {
        "Queue": gettext_noop(
            "Where messages wait; limits, backout threshold, contact."
        ),
        "AddressSetting": gettext_noop(
            "Redelivery, dead letters and expiry, for all addresses that"
            " a pattern matches."
        ),
        "Address": gettext_noop(
            "The names that producers send to, and what subscriptions get."
        ),
        "QueueAlias": gettext_noop("Other names of queues and addresses."),
        "ModelQueue": gettext_noop("Templates of queues that clients create."),
        "Subscription": gettext_noop(
            "What clients subscribed to. They subscribe and unsubscribe."
        ),
    },
    gettext_noop("Who may do what"): {
        "User": gettext_noop("People who sign in, their groups, and second factors."),
        "Group": gettext_noop("Roles: permissions of many users at once."),
        "Authority": gettext_noop("What users and groups may do, on which queues."),
        "RedactionRule": gettext_noop("What is masked in messages, on which queues."),
        "AccessAttempt": gettext_noop(
            "Wrong passwords. Delete a row to let somebody try again"
            " before the lock ends."
        ),
    },
    gettext_noop("Bridges"): {
        "Bridge": gettext_noop("Groups of links to other brokers."),
        "Link": gettext_noop("What moves messages from a source to a target."),
        "ConnectionFactory": gettext_noop("How to reach a broker, and as whom."),
        "BridgeDestination": gettext_noop("Queues and topics at other brokers."),
        "DeadMessageQueue": gettext_noop(
            "Where messages go that a link cannot transfer."
        ),
    },
    gettext_noop("Housekeeping"): {
        "PeriodicTask": gettext_noop("When reports and housekeeping run."),
    },
}
NAMES = {
    "AccessAttempt": gettext_noop("failed sign-ins"),
    "PeriodicTask": gettext_noop("scheduled tasks"),
}


def sections(apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The models of Django's list of applications, by purpose.

    Args:
        apps: ``AdminSite.get_app_list``; it has what the user may see.
    """
    known = {
        model["object_name"]: model
        | {"app": app["app_label"]}
        | {"objects": model["model"]._meta.verbose_name_plural}
        for app in apps
        for model in app["models"]
    }
    found = []
    for title, purposes in SECTIONS.items():
        models = [
            {"purpose": gettext(purpose)} | known.pop(name) | renamed(name)
            for name, purpose in purposes.items()
            if name in known
        ]
        if models:
            found.append({"name": gettext(title), "models": models})
    if known:
        found.append({"name": gettext("More"), "models": list(known.values())})
    return found


def renamed(name: str) -> dict[str, str]:
    """The plain name of a model of another package, if it needs one."""
    if name not in NAMES:
        return {}
    objects = gettext(NAMES[name])
    return {"name": capfirst(objects), "objects": objects}
