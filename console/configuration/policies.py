"""The forms of queues and of address settings: what they inherit, where it holds, and
the delays that the typed values give."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest, HttpResponse

from broker.formats.wildcards import configured, matches
from broker.models import AddressSetting, Authority, Bridge, Link, Queue
from broker.security import authorities
from broker.settlement.redelivery_schedule import staircase
from console.configuration import effective_settings, inheritance, redelivery_chart
from console.configuration.previewing import PreviewedAdmin
from console.configuration.reviewing import ReviewedAdmin

LISTED = 5  # addresses named in a form


class SettingPages(PreviewedAdmin):
    """The form of an address setting."""

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form = context["adminform"].form
        rule = effective_settings.as_counted(inheritance.in_effect(form))
        steps = staircase(rule)
        to = rule.dead_letter_address
        fed = {to} if to and Queue.objects.filter(address__name=to).exists() else set()
        context |= {
            "inherited": inheritance.of_setting(form),
            "staircase": steps,
            "drawing": redelivery_chart.draw(steps),
            "ending": effective_settings.ending(rule, steps, fed, rule.match),
            "places": places(request, rule.match),
        }
        return super().render_change_form(request, context, *args, **kwargs)


class QueuePages(PreviewedAdmin):
    """The form of a queue."""

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form = context["adminform"].form
        address = inheritance.address_of(form)
        context |= {
            "inherited": inheritance.of_queue(form),
            "address": address,
            "matching": inheritance.matching(address) if address else {},
        }
        return super().render_change_form(request, context, *args, **kwargs)


def places(request: HttpRequest, pattern: str) -> dict[str, Any]:
    """The addresses with queues that a pattern matches and the user may see."""
    held, syntax = authorities.held_by(request.user), configured()
    if not request.user.has_perm("broker.view_queue"):
        return {}
    rows = Queue.objects.order_by("address__name").values_list("address__name", "name")
    found = [
        (address, name)
        for address, name in rows
        if matches(pattern, address, syntax) and held.on("inquire", name)
    ]
    named = list(dict.fromkeys(address for address, _ in found))
    return {"queues": len(found), "addresses": named[:LISTED], "more": named[LISTED:]}


class Reviewed(ReviewedAdmin, PreviewedAdmin):
    """A form whose changes are shown before they are saved."""


PAGES: dict[type[Any], tuple[type[ModelAdmin], ...]] = {
    AddressSetting: (ReviewedAdmin, SettingPages),
    Queue: (ReviewedAdmin, QueuePages),
    Authority: (Reviewed,),
    Bridge: (Reviewed,),
    Link: (Reviewed,),
}
