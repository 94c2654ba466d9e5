"""The settings that an address has in effect, and which setting decides each."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from broker.config.address_settings import by_specificity, decided, merge
from broker.models import Address, AddressSetting, Queue
from broker.security import authorities
from broker.settlement.redelivery_schedule import staircase
from console.configuration import effective_settings, redelivery_chart

LISTED = 200  # addresses to choose from


class AddressForm(forms.Form):
    """The chosen address."""

    address = forms.CharField(max_length=255)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def settings(request: HttpRequest) -> HttpResponse:
    """Each field of an address: its value, the setting that decides it, and overridden
    settings."""
    form = AddressForm(request.GET if request.GET.get("address") else None)
    held = authorities.held_by(request.user)
    context: dict[str, Any] = {"form": form, "addresses": listed(held)}
    if form.is_valid():
        address = form.cleaned_data["address"]
        queues = list(Queue.objects.filter(address__name=address).order_by("name"))
        seen = [one for one in queues if held.on("inquire", one.name)]
        if not seen and not held.on("inquire", address):
            raise authorities.refusal(request.user, "inquire", address)
        context |= of_address(address, seen)
        context["is_known"] = bool(queues) or exists(address)
    return render(request, "console/configuration/effective.html", context)


def of_address(address: str, queues: list[Queue]) -> dict[str, Any]:
    """The context of the page of an address.

    Args:
        queues: the queues it feeds that the user may see.
    """
    every = list(AddressSetting.objects.all())
    merged = merge(address, every)
    rule = effective_settings.as_counted(merged)
    found = staircase(rule)
    to = rule.dead_letter_address
    fed = {to} if to and Queue.objects.filter(address__name=to).exists() else set()
    return {
        "address": address,
        "queues": queues,
        "matching": by_specificity(address, every),
        "groups": effective_settings.groups(decided(address, every), merged),
        "staircase": found,
        "drawing": redelivery_chart.draw(found),
        "ending": effective_settings.ending(rule, found, fed, address),
        "exceptions": list(effective_settings.exceptions(merged, queues)),
    }


def exists(address: str) -> bool:
    return Address.objects.filter(name=address).exists()


def listed(held: authorities.GrantedAuthorities) -> list[str]:
    """Addresses to choose from that the user may see."""
    names = Address.objects.order_by("name").values_list("name", flat=True)
    return [name for name in names if held.on("inquire", name)][:LISTED]
