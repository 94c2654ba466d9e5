"""Warnings after a change of settings (``broker.config.lint``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib import messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from broker.admin.quantities import QuantitiesAdmin
from broker.config.lint import advice, advised
from broker.models import ModelQueue, Queue

MOST = 5  # most warnings shown at once


class AdvisingAdmin(QuantitiesAdmin):
    """Shows warnings after a change; refuses nothing."""

    def save_model(
        self, request: HttpRequest, obj: Model, form: Any, change: Any
    ) -> None:
        name = obj.name if isinstance(obj, (Queue, ModelQueue)) else ""
        with advising(request, name):
            super().save_model(request, obj, form, change)

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        with advising(request):
            super().delete_model(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        with advising(request):
            super().delete_queryset(request, queryset)


@contextmanager
def advising(request: HttpRequest, name: str = "") -> Iterator[None]:
    """After a change, show all warnings on one queue, and all new warnings."""
    with advised() as new:
        yield
    found = [one for one in advice() if one.queue == name] if name else []
    found += [one for one in new if one not in found]
    for one in found[:MOST]:
        messages.warning(request, str(one))
    if len(found) > MOST:
        messages.warning(
            request,
            gettext("And %(n)s more like these.") % {"n": f"{len(found) - MOST:,}"},
        )
