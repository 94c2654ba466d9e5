"""Bridges and links as JSON, for the API and the command line."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from broker.bridges import standing
from broker.bridges.books import Counts
from broker.bridges.config.bridge_import import BridgeImportPreview
from broker.bridges.config.edits import state_of
from broker.errors.bridges import NoSuchBridge
from broker.models import Bridge, BridgeDestination, Link, LinkState, LinkStatus
from broker.models.bridge_names import AS_SOURCE

MODELS = (
    *("bridge", "connectionfactory", "bridgedestination"),
    *("deadmessagequeue", "link"),
)
LOOK = [f"broker.view_{model}" for model in MODELS]
TAKE_OVER = [
    f"broker.{deed}_{model}" for deed in ("add", "change", "delete") for model in MODELS
]

VIEW, OPERATE = "broker.view_link", "broker.operate_link"
COUNTS = [one.name for one in fields(Counts)]


def bridge_of(name: str) -> Bridge:
    """
    Raises:
        NoSuchBridge: there is none of this name.
    """
    found = Bridge.objects.filter(name=name).first()
    if found is None:
        raise NoSuchBridge(name)
    return found


def told(link: Link) -> dict[str, Any]:
    """The API's form of a link; a link that was never started has no status."""
    status = getattr(link, "status", None) or LinkStatus(
        link=link, state=LinkState.UNINITIALIZED
    )
    return {
        "bridge": link.bridge.name,
        "link": link.name,
        "state": state_of(link).value,
        "wanted": status.wanted,
        "enabled": link.enabled,
        "transacted": link.transacted,
        "source": where(link.source),
        "source_provider": link.source_factory.provider,
        "target": AS_SOURCE if link.target is None else where(link.target),
        "target_provider": link.target_factory.provider,
        "error": status.error,
        "error_at": status.error_at,
        "waits_for": standing.held_by(status),
        "last_transfer_at": status.last_transfer_at,
        "waiting": status.waiting,
        "oldest_at": status.oldest_at,
        "counts": {name: getattr(status, name) for name in COUNTS},
    }


def where(destination: BridgeDestination) -> str:
    """An end of a link in Open MQ's notation."""
    return f"{destination.kind}:{destination.name}"


def changes_told(found: BridgeImportPreview, *, applied: bool) -> dict[str, Any]:
    return {
        "bridge": found.bridge,
        "applied": applied,
        "changes": found.changes,
        "left_open": found.left_open,
        "token": found.token,
    }
