"""Bridges and links as JSON, for the API and the command line."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from broker.acts.bridges import read_standing
from broker.bridges.config.bridge_import import BridgeImportPreview
from broker.errors.bridges import NoSuchBridge
from broker.models import Bridge, Link

MODELS = (
    *("bridge", "connectionfactory", "bridgedestination"),
    *("deadmessagequeue", "link"),
)
LOOK = [f"broker.view_{model}" for model in MODELS]
TAKE_OVER = [
    f"broker.{deed}_{model}" for deed in ("add", "change", "delete") for model in MODELS
]


def bridge_of(name: str) -> Bridge:
    """
    Raises:
        NoSuchBridge: there is none of this name.
    """
    found = Bridge.objects.filter(name=name).first()
    if found is None:
        raise NoSuchBridge(name)
    return found


def link_document(link: Link) -> dict[str, Any]:
    """A link and its status as JSON."""
    return asdict(read_standing(link))


def changes_document(found: BridgeImportPreview, *, applied: bool) -> dict[str, Any]:
    return {
        "bridge": found.bridge,
        "applied": applied,
        "changes": found.changes,
        "left_open": found.left_open,
        "token": found.token,
    }
