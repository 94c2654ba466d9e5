"""Two messages side by side: what differs in their headers and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from broker import operations
from broker.errors.queues import NotAuthorized
from broker.models import Message
from broker.monitoring.dead_letters import NEWEST
from broker.security import authorities, redaction
from console.bodies.text_diff import difference
from console.messages.detail import Story
from console.messages.pages.detail import known
from console.messages.rights import covers, require

LOOKED_AT = 20_000  # message ids among which an accepted message is looked for
TRIED = 5  # messages of which the end is read


class OtherForm(forms.Form):
    """The message to compare with."""

    other = forms.IntegerField(
        min_value=1,
        max_value=NEWEST,
        required=False,
        error_messages={"invalid": gettext_lazy("Give the number of a message.")},
    )


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def compare(request: HttpRequest, message_id: int) -> HttpResponse:
    """What differs between two messages. Without another, the newest accepted message
    of the same address is offered."""
    story = known(message_id)
    held = require(request, "browse", story)
    form = OtherForm(request.GET if "other" in request.GET else None)
    context: dict[str, Any] = dict.fromkeys(("other", "offered", "difference"))
    context |= {"story": story, "form": form}
    number = form.cleaned_data["other"] if form.is_valid() else None
    if number is None:
        found = next(accepted_like(story, held), None)
        context["offered"] = found.number if found else None
        return show(request, context)
    try:
        other = known(number, newest=True)
        require(request, "browse", other)
    except (Http404, NotAuthorized):
        why = gettext("There is no message %(number)s that you may read.")
        form.add_error("other", why % {"number": number})
        return show(request, context)
    sight = redaction.sight_of(request.user)
    ids = [other.message_id, story.message_id]
    masked = [one for one in ids if sight.veil(one)]
    subjects = operations.subjects_of(ids)
    context["other"] = other
    if masked:
        why = gettext("Parts of one of the two are masked for you.")
        form.add_error("other", why)
    elif len(subjects) < len(set(ids)):
        why = gettext("The body of one of the two is past its retention.")
        form.add_error("other", why)
    else:
        context["difference"] = difference(*map(subjects.__getitem__, ids))
    return show(request, context)


def show(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    return render(request, "console/messages/compare.html", context)


def accepted_like(
    story: Story, held: authorities.GrantedAuthorities
) -> Iterator[Story]:
    """Newest accepted messages of the address from which a message comes."""
    letter = story.letter
    queue = letter.origin_queue if letter else min(story.queues, default="")
    rows = Message.objects.filter(
        address=queue, pk__gt=story.message_id - LOOKED_AT
    ).exclude(pk=story.message_id)
    for message_id in rows.order_by("-pk").values_list("pk", flat=True)[:TRIED]:
        one = known(message_id)
        is_accepted = any(now.word == "accepted" for now in one.verdicts)
        if is_accepted and covers(held, "browse", one):
            yield one
