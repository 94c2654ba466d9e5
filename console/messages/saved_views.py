"""Saved views, which are named filters, as pages and REST read them.

A view is a filter only and grants no rights: each reader sees their own results.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.formats.filters import Filter
from broker.security.users import User
from console.models import SavedView

SHOWN = 50  # shared views shown above a list


def views_of(user: User | AnonymousUser) -> list[SavedView]:
    """The user's own views, then some shared by others, by name."""
    known = SavedView.objects.select_related("owner").order_by("name", "pk")
    shared = known.filter(is_shared=True).exclude(owner=user.pk)
    return [*known.filter(owner=user.pk), *shared[:SHOWN]]


def open_to(user: User | AnonymousUser) -> QuerySet[SavedView]:
    """Views that the user may open."""
    return SavedView.objects.filter(Q(owner=user.pk) | Q(is_shared=True))


def texts_of(view: SavedView) -> list[str]:
    """The terms of a view; unchanged if the language no longer knows a word."""
    try:
        return [str(term) for term in filters.parse(view.filter).terms]
    except InvalidFilter:
        return [view.filter]


def current(views: Iterable[SavedView], wanted: Filter) -> SavedView | None:
    """The saved view with this filter, if there is one."""
    return next((view for view in views if view.filter == str(wanted)), None)
