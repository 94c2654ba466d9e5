"""The user's rights: permitted actions, their queues, and the sources of each right."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from broker.security.authorities import ALL
from broker.security.users import User
from console.accounts import own_permissions

LONGEST = 255
SHOWN = 100  # the most queues that the page shows


@require_safe
def rights(request: HttpRequest) -> HttpResponse:
    """The rights of the signed-in user; ``q`` is the name of a queue, or a part of
    names. Rights on a name are shown whether or not a queue of that name exists."""
    assert isinstance(request.user, User), "only those who have signed in get here"
    wanted = request.GET.get("q", "").replace("\0", "").strip()[:LONGEST]
    grants = own_permissions.grants_of(request.user)
    names = own_permissions.queues_like(request.user, wanted)
    shown = [name for name in names if name != wanted][:SHOWN]
    context = {
        "groups": request.user.groups.order_by("name"),
        "deeds": own_permissions.possible(request.user, grants),
        "grants": grants,
        "authorities": ALL,
        "wanted": wanted,
        "rows": own_permissions.on_queues(grants, [wanted] * bool(wanted) + shown),
        "more": len([name for name in names if name != wanted]) - len(shown),
    }
    return render(request, "console/accounts/rights/rights.html", context)
