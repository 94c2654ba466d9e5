"""Orders: what is to be done with which messages, chosen by a person; then the plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib import messages
from django.contrib.admin.models import ADDITION
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from broker import authorities, errors, operations
from broker.errors.messages import InvalidSelector
from broker.errors.operations import InvalidPriority, NothingChosen
from broker.models import DeadLetter, Operation, Place, Queue
from broker.operations import Chosen, Order
from console import ledgers, rights, wording
from console.order_forms import ChosenForm, OrderForm, narrowed
from console.selections import PlanForm, SelectionForm, fields_of, in_words, seen_by
from console.views.operations import record

Kind = Operation.Kind
WRONG: dict[type[errors.BrokerError], str | None] = {  # said at a field, or above all
    errors.NoSuchQueue: "to",
    errors.NotResubmittable: None,
    InvalidPriority: "priority",
    InvalidSelector: "selector",
    NothingChosen: None,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The messages that an order is about."""

    title: str
    scope: str
    back: str  # the page from which they were chosen
    pairs: Sequence[tuple[str, object]]  # that choose them again
    queue: str = ""  # where all of them lie, if it is one
    place: Place | None = None
    is_open: bool = False  # a selector may narrow them
    letters: bool = False  # they are dead letters


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that could be done, and why this person may not."""

    kind: str
    words: wording.Words
    is_chosen: bool
    obstacle: str = field(default="")


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(rights.CHANGE, raise_exception=True)
@transaction.atomic
def order(request: HttpRequest, name: str) -> HttpResponse:
    """Choose what is to be done with messages on one queue."""
    queue = get_object_or_404(Queue, name=name)
    authorities.require(request.user, "inquire", name)
    said = request.POST if request.method == "POST" else request.GET
    form = ChosenForm(said)
    back = reverse("console:queue", args=[name])
    if not form.is_valid():
        ((sentence, *_), *_) = form.errors.values()
        messages.error(request, str(sentence))
        return redirect(f"{back}?place={said.get('place', '')}")
    chosen = form.chosen(name, said.get("selector", "").strip())
    title = form.in_words(name)
    subject = Subject(
        title=title,
        scope=narrowed(title, chosen.selector),
        back=f"{back}?place={said.get('place', '')}",
        pairs=form.pairs,
        queue=name,
        place=chosen.place,
        is_open=form.is_of_all,
        letters=DeadLetter.objects.filter(queue_id=queue.pk).exists(),
    )
    return ordered(request, subject, chosen)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(rights.CHANGE, raise_exception=True)
@transaction.atomic
def order_letters(request: HttpRequest) -> HttpResponse:
    """Choose what is to be done with dead letters, of those one sees."""
    said = request.POST if request.method == "POST" else request.GET
    form = SelectionForm(said)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    scope = in_words(form.selection)
    pairs = list(fields_of(form.selection).items())
    back = reverse("console:dead_letters")
    subject = Subject(scope, scope, back, pairs, letters=True)
    chosen = Chosen(letters=seen_by(request.user, form.selection))
    return ordered(request, subject, chosen)


@require_POST
@permission_required(rights.CHANGE, raise_exception=True)
@transaction.atomic
def plan_resubmit(request: HttpRequest) -> HttpResponse:
    """Freeze what is to be resubmitted, of the dead letters one sees."""
    form = PlanForm(request.POST)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    one = form.cleaned_data["message"]
    scope = f"message {one}" if one else in_words(form.selection)
    letters = seen_by(request.user, form.selection)
    chosen = Chosen(letters=letters, ids=(one,) if one else ())
    return planned(request, Order(Kind.RESUBMIT), chosen, scope)


def ordered(request: HttpRequest, subject: Subject, chosen: Chosen) -> HttpResponse:
    """Ask what is to be done; once that is said, freeze the set and show the plan."""
    is_sent = request.method == "POST"
    said = request.POST if is_sent else request.GET
    offers = list(offers_for(request.user, subject, said.get("kind", "")))
    possible = [offer.kind for offer in offers if not offer.obstacle]
    form = OrderForm(request.POST if is_sent else None, offers=possible)
    if is_sent and form.is_valid():
        try:
            with transaction.atomic():
                return planned(request, form.order, chosen, subject.scope)
        except tuple(WRONG) as error:
            form.add_error(WRONG[type(error)], str(error))
    context: dict[str, Any] = {
        "subject": subject,
        "offers": offers,
        "form": form,
        "possible": possible,
        "queues": names_for_put(request.user) if possible else [],
        "priorities": range(10),
    }
    status = 422 if form.errors else 200
    return render(request, "console/operations/order.html", context, status=status)


def planned(
    request: HttpRequest, what: Order, chosen: Chosen, scope: str
) -> HttpResponse:
    """Freeze the set, and show the plan to whom it is.

    Raises:
        NotAuthorized: this person may not do that; nothing is planned.
    """
    plan = operations.plan(request.user, what, chosen, scope=scope)
    rights.require_ways(request.user, plan, ledgers.ledger_of(plan))
    record(request, plan, "planned it", ADDITION)
    return redirect("console:operation", plan.pk)


def offers_for(
    user: authorities.Principal, subject: Subject, chosen: str
) -> Iterator[Offer]:
    """What can be done with such messages, the harmless first."""
    held = authorities.held_by(user)
    for kind, words in wording.WORDS.items():
        if kind == Kind.RESUBMIT and not subject.letters:
            continue
        if words.waits_only and (subject.place == Place.READY or not subject.queue):
            continue
        if kind == Kind.DEAD_LETTER and not subject.queue:
            continue
        lacks = [
            f"You lack the authority “{authority}” on {subject.queue}."
            for authority in (words.takes, words.gives if not words.goes else None)
            if authority and subject.queue and not held.on(authority, subject.queue)
        ]
        yield Offer(kind, words, kind == chosen, next(iter(lacks), ""))


def names_for_put(user: authorities.Principal) -> list[str]:
    """The queues to which a person may send, by name."""
    names = Queue.objects.order_by("name").values_list("name", flat=True)
    return sorted(authorities.allowed(user, "put", names))
