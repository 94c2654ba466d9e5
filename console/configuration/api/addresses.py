"""Addresses: their effective settings."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Path, Router, Schema

from broker.config.address_settings import decisions
from broker.models import Queue
from broker.security import authorities
from console.edges.rest.problems import REFUSED, require

router = Router(tags=["addresses"])


class Definition(Schema):
    """One address setting's value of a field."""

    match: str
    value: Any


class FieldDecision(Schema):
    """A field's value, and which setting decided it."""

    field: str
    value: Any  # null if it is derived from other fields
    decided_by: str | None  # the pattern of the setting; null for the built-in default
    why: str
    passed_over: list[Definition]  # values of less specific settings, nearest first


class Settings(Schema):
    """All fields of an address, each with the setting that decided it."""

    address: str
    settings: list[FieldDecision]


@router.get(
    "/addresses/{queue:address}/settings",
    response={200: Settings, **REFUSED},
    summary="The settings that an address has in effect",
)
def read_settings(request: HttpRequest, address: Path[str]) -> dict[str, Any]:
    """Each field with the setting that decides it, for callers who may inquire a queue
    of the address. The address need not exist. Its name is written as queue names are.
    """
    require(request, "broker.view_queue")
    held = authorities.held_by(request.user)
    queues = Queue.objects.filter(address__name=address).values_list("name", flat=True)
    if not any(held.on("inquire", name) for name in (address, *queues)):
        raise authorities.refusal(request.user, "inquire", address)
    return {"address": address, "settings": decisions(address)}
