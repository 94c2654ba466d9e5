"""The discard bin: discarded messages, why they were discarded, and restoring them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from broker import acts
from broker.acts.discards import (
    AT_ONCE,
    RestoredMessage,
    RestoreMessages,
    restore_messages,
)
from broker.errors.discards import NotInDiscardBin
from broker.models import Discarded
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned, Entry
from console.dead_letters import discard_bin
from console.dead_letters.discard_bin import cursor_of, position
from console.edges.web.forms import form_of
from console.layout import pagination
from console.messages.dead_letter_query import LARGEST

PAGE = 50
RestoreForm = form_of(restore_messages, "messages", "fingerprint", "queue")


class BinForm(forms.Form):
    """The filter of the bin."""

    queue = forms.CharField(max_length=255, required=False, strip=False)
    reason = forms.IntegerField(min_value=0, max_value=LARGEST, required=False)
    group = forms.RegexField(r"^[0-9a-f]{12}$", required=False)

    @property
    def fingerprint(self) -> str:
        """The chosen group of dead letters, if any."""
        return str(self.cleaned_data.get("group", "")) if self.is_valid() else ""


@dataclass(frozen=True, slots=True)
class DiscardedRow:
    """One entry of the bin, and whether it can be restored."""

    binned: Binned
    may_restore: bool
    now: datetime

    @property
    def item(self) -> str:
        return f"{self.binned.message_id}.{self.binned.queue_id}"

    @property
    def obstacle(self) -> str:
        """Why the message cannot be restored; empty if it can."""
        return gettext(discard_bin.obstacle_of(self.binned, self.now))


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def discards(request: HttpRequest) -> HttpResponse:
    """The messages in the bin, the newest first."""
    form = BinForm(request.GET)
    page = pagination.Trail.of(request)
    try:
        before = position(page.after)
    except (ValueError, OverflowError):  # the cursor is not one of this list
        return redirect("console:discards")
    if not form.is_valid():
        return redirect("console:discards")
    held = authorities.held_by(request.user)
    names = bin_of.visible_queues(held)
    chosen = {
        "queue": form.cleaned_data["queue"] or None,
        "reason": form.cleaned_data["reason"],
        "fingerprint": form.cleaned_data["group"] or None,
    }
    found = bin_of.discarded(**chosen, within=names, before=before, limit=PAGE + 1)
    context = {
        "rows": rows_of(request, held, found[:PAGE]),
        "numbers": public_numbers(one.message_id for one in found),
        "chosen": chosen,
        "is_filtered": any(value is not None for value in chosen.values()),
        "queues": counted("queue", names),
        "reasons": counted("reason", names),
        "page": page,
        "next": page.then(cursor_of(found[PAGE - 1])) if len(found) > PAGE else None,
    }
    return render(request, "console/dead_letters/discards/discards.html", context)


@require_http_methods(["GET", "POST"])
def restore(request: HttpRequest) -> HttpResponse:
    """Explain the restore, and do it when it is confirmed."""
    said = request.POST if request.method == "POST" else request.GET
    acts.require(request.user, RestoreMessages(reason=said.get("reason", "")))
    entries = [entry_of(item) for item in said.getlist("item")[:AT_ONCE]]
    held = authorities.held_by(request.user)
    group = BinForm(said).fingerprint
    names = bin_of.visible_queues(held)
    if group and request.method != "POST":
        found = bin_of.discarded(fingerprint=group, within=names, limit=AT_ONCE)
    else:
        found = still_there(entries, names)
    if request.method != "POST":
        context = {
            "rows": rows_of(request, held, found),
            "numbers": public_numbers(one.message_id for one in found),
            "asked": len(found) if group else len(entries),
            "group": group,
            "most": AT_ONCE,
        }
        return render(request, "console/dead_letters/discards/restore.html", context)
    report(request, restore_all(request, found), missing_from(entries, found))
    return redirect("console:discards")


@transaction.atomic
def restore_all(request: HttpRequest, found: Sequence[Binned]) -> list[RestoredMessage]:
    """Restore entries, those of one queue at a time, as a message may be on several."""
    by_queue: dict[str, list[int]] = defaultdict(list)
    for one in found:
        by_queue[one.queue].append(one.message_id)
    form = RestoreForm(request.POST)
    outcomes = []
    for queue, ids in sorted(by_queue.items()):
        answer = form.order(request, messages=tuple(ids), queue=queue)
        outcomes += answer.messages
    return outcomes


def missing_from(entries: Sequence[Entry], found: Sequence[Binned]) -> list[int]:
    """The messages that are no longer in the bin."""
    known = {(one.message_id, one.queue_id) for one in found}
    return sorted(entry[0] for entry in set(entries) - known)


def rows_of(
    request: HttpRequest, held: authorities.GrantedAuthorities, found: Iterable[Binned]
) -> list[DiscardedRow]:
    may_all = request.user.has_perm(restore_messages.permission)
    now = timezone.now()
    return [
        DiscardedRow(one, may_all and held.on("put", one.queue), now) for one in found
    ]


def still_there(entries: Sequence[Entry], names: list[str] | None) -> list[Binned]:
    """The chosen entries that are still in the bin and that the user may see."""
    found = bin_of.discarded(
        within=names, message_ids=[one for one, _ in entries], limit=NEWEST
    )
    return [one for one in found if (one.message_id, one.queue_id) in entries]


def counted(column: str, names: list[str] | None) -> list[tuple[str | int | None, int]]:
    """The choices of a filter, each with its number of messages."""
    every = Discarded.objects.all()
    if names is not None:
        every = every.filter(queue__in=names)
    return list(every.values_list(column).annotate(Count("pk")).order_by(column))


def entry_of(item: str) -> Entry:
    """The message and the queue of a checkbox."""
    message_id, _, queue_id = item.partition(".")
    try:
        entry = int(message_id), int(queue_id)
    except ValueError:
        raise BadRequest("This is no entry of the discard bin.") from None
    if not (0 <= entry[0] <= NEWEST and 0 <= entry[1] <= LARGEST):
        raise BadRequest("There are no such numbers.")
    return entry


def report(
    request: HttpRequest, outcomes: Sequence[RestoredMessage], missing: Sequence[int]
) -> None:
    """Tell the user the outcomes of a restore."""
    done = sum(not one.code for one in outcomes)
    if done:
        text = ngettext(
            "%(n)s message is back on the queue, at the head.",
            "%(n)s messages are back on the queue, at the head.",
            done,
        )
        messages.success(request, text % {"n": done})
    refused = [one.detail for one in outcomes if one.code]
    for words in dict.fromkeys(
        refused + [str(NotInDiscardBin(one)) for one in missing]
    ):
        messages.error(request, words)
