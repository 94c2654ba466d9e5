"""The first page of Settings: what can be set, by purpose, each in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SECTIONS: Mapping[str, Mapping[str, str]] = {  # models with what they are for
    "Queues and addresses": {
        "Queue": "Where messages wait; limits, backout threshold, contact.",
        "AddressSetting": "Redelivery, dead letters and expiry, for all addresses that"
        " a pattern matches.",
        "Address": "The names that producers send to, and what subscriptions get.",
        "QueueAlias": "Other names of queues and addresses.",
        "ModelQueue": "Templates of queues that clients create.",
        "Subscription": "What clients subscribed to. They subscribe and unsubscribe.",
    },
    "Who may do what": {
        "User": "People who sign in, their groups, and second factors.",
        "Group": "Roles: permissions of many users at once.",
        "Authority": "What users and groups may do, on which queues.",
        "RedactionRule": "What is masked in messages, on which queues.",
        "AccessAttempt": "Wrong passwords. Delete a row to let somebody try again"
        " before the lock ends.",
    },
    "Bridges": {
        "Bridge": "Groups of links to other brokers.",
        "Link": "What moves messages from a source to a target.",
        "ConnectionFactory": "How to reach a broker, and as whom.",
        "BridgeDestination": "Queues and topics at other brokers.",
        "DeadMessageQueue": "Where messages go that a link cannot transfer.",
    },
    "Housekeeping": {
        "PeriodicTask": "When reports and housekeeping run.",
    },
}
NAMES = {"AccessAttempt": "Failed sign-ins", "PeriodicTask": "Scheduled tasks"}


def sections(apps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The models of Django's list of applications, by purpose.

    Args:
        apps: ``AdminSite.get_app_list``; it has what the user may see.
    """
    known = {
        model["object_name"]: model | {"app": app["app_label"]}
        for app in apps
        for model in app["models"]
    }
    found = []
    for title, purposes in SECTIONS.items():
        models = [
            {"purpose": purpose} | known.pop(name) | renamed(name)
            for name, purpose in purposes.items()
            if name in known
        ]
        if models:
            found.append({"name": title, "models": models})
    if known:
        found.append({"name": "More", "models": list(known.values())})
    return found


def renamed(name: str) -> dict[str, str]:
    """The plain name of a model of another package, if it needs one."""
    return {"name": NAMES[name]} if name in NAMES else {}
