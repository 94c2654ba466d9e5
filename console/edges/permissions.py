"""Permissions that the console asks for by name."""

from __future__ import annotations

from broker.security.permissions import CHANGE, LOOK, may

AUDIT = "broker.view_auditrecord"
LINKS = "broker.view_link"

__all__ = ["AUDIT", "CHANGE", "LINKS", "LOOK", "may"]
