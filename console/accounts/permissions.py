"""Permissions that the console asks for by name."""

from __future__ import annotations

from broker.security.permissions import CHANGE, LOOK, may

AUDIT = "broker.view_auditrecord"

__all__ = ["AUDIT", "CHANGE", "LOOK", "may"]
