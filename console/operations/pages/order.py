"""New operations: the user chooses an action for messages; then the plan is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.core.exceptions import BadRequest
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from broker import errors, operations
from broker.acts.operations import rights
from broker.acts.operations.rights import NEEDS
from broker.errors.messages import InvalidSelector, SearchTooLong
from broker.errors.operations import InvalidPriority, NothingChosen
from broker.models import DeadLetter, Operation, Place, Queue
from broker.monitoring import visible_search
from broker.operations import Chosen, Order, Sought
from broker.operations.approvals import HARD
from broker.operations.scopes import describe_letters, describe_message, in_quotes
from broker.security import authorities
from console.edges import permissions
from console.messages.dead_letter_query import (
    PlanForm,
    SelectionForm,
    fields_of,
    names_for,
    visible_part,
)
from console.operations import wording
from console.operations.order_form import (
    ChosenForm,
    FoundForm,
    OrderForm,
    narrowed,
)

Kind = Operation.Kind
NO_QUOTES = str.maketrans("", "", "“”")
AMONG = {  # states that messages must have, for some kinds
    Kind.RESUBMIT: {"dead"},
    Kind.DELIVER: {"delayed"},
    Kind.DEAD_LETTER: {"ready", "delayed"},
}
# the field that shows each error; None: above the form
WRONG: dict[type[errors.BrokerError], str | None] = {
    errors.NoSuchQueue: "to",
    errors.NotResubmittable: None,
    InvalidPriority: "priority",
    InvalidSelector: "selector",
    SearchTooLong: None,
    NothingChosen: None,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The messages of a new operation."""

    title: str
    scope: str
    back: str  # the page on which they were chosen
    pairs: Sequence[tuple[str, object]]  # form fields that choose them again
    states: frozenset[str]  # the possible states of the messages: ready, delayed, dead
    whence: str = ""  # the title of that page
    queue: str = ""  # the queue of all messages, if they are on one queue
    is_open: bool = False  # whether a selector may narrow the messages


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind of operation, and why the user may not do it."""

    kind: str
    words: wording.Words
    is_chosen: bool
    obstacle: str = field(default="")

    @property
    def is_hard(self) -> bool:
        return self.kind in HARD


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(permissions.CHANGE, raise_exception=True)
@transaction.atomic
def order(request: HttpRequest, name: str) -> HttpResponse:
    """Choose an action for messages on one queue."""
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
    title = form.in_words(queue)
    subject = Subject(
        title=title,
        scope=narrowed(title, chosen.selector),
        back=f"{back}?place={said.get('place', '')}",
        pairs=form.pairs,
        states=states_on(queue, chosen.place),
        queue=name,
        is_open=form.is_of_all,
    )
    return ordered(request, subject, chosen)


def states_on(queue: Queue, place: Place | None) -> frozenset[str]:
    """The states of messages in a place on a queue; dead letters may be delayed."""
    places = {Place.READY: "ready", Place.DELAYED: "delayed"}
    here = {places[place]} if place else set(places.values())
    letters = DeadLetter.objects.filter(queue_id=queue.pk)
    return frozenset(here | {"dead"} if letters.exists() else here)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(permissions.CHANGE, raise_exception=True)
@transaction.atomic
def order_found(request: HttpRequest) -> HttpResponse:
    """Choose an action for messages that a filter finds and that the user may see:
    for chosen messages, or for all that match when the plan is made."""
    said = request.POST if request.method == "POST" else request.GET
    search = visible_search.search(request.user, said.getlist("f"))
    page = [("f", str(term)) for term in search.filter.terms]
    page += [("after", after) for after in said.getlist("after")]
    back = f"{reverse('console:messages')}?{urlencode(page)}"
    form = FoundForm(said, is_filtered=bool(search.filter))
    if not form.is_valid():
        ((sentence, *_), *_) = form.errors.values()
        messages.error(request, str(sentence))
        return redirect(back)
    sought = Sought(search.filter, search.within)
    scope = f"all messages matching {in_quotes(str(search.filter))}"
    if not form.is_of_all:
        sought = Sought.named(form.entries, names_for(request.user))
        scope = "chosen messages"
    try:
        seen = operations.foresee(sought)
    except NothingChosen:
        messages.error(request, str(NothingChosen(scope.translate(NO_QUOTES))))
        return redirect(back)
    counted = f"{seen.in_words} {scope.removeprefix('all ')}"
    if counted.startswith("1 "):
        counted = counted.replace("messages", "message", 1)
    subject = Subject(
        title=counted,
        scope=scope if form.is_of_all else counted,
        back=back,
        pairs=[*page, *form.pairs],
        states=seen.states,
        whence="Messages",
    )
    return ordered(request, subject, sought)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(permissions.CHANGE, raise_exception=True)
@transaction.atomic
def order_letters(request: HttpRequest) -> HttpResponse:
    """Choose an action for dead letters that the user may see."""
    said = request.POST if request.method == "POST" else request.GET
    form = SelectionForm(said)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    names = names_for(request.user)
    scope = describe_letters(form.selection, names)
    pairs = list(fields_of(form.selection).items())
    back = reverse("console:dead_letters")
    subject = Subject(scope, scope, back, pairs, frozenset({"dead"}), "Dead letters")
    chosen = Chosen(letters=visible_part(form.selection, names))
    return ordered(request, subject, chosen)


@require_POST
@permission_required(permissions.CHANGE, raise_exception=True)
@transaction.atomic
def plan_resubmit(request: HttpRequest) -> HttpResponse:
    """Plan a resubmit of dead letters that the user may see; with ``repair``, the form
    of a patch is open on the page of the plan."""
    form = PlanForm(request.POST)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    one = form.cleaned_data["message"]
    names = names_for(request.user)
    scope = describe_letters(form.selection, names)
    if one:
        scope = describe_message(one, names)
    letters = visible_part(form.selection, names)
    chosen = Chosen(letters=letters, ids=(one,) if one else ())
    reach = operations.EVERY_QUEUE if form.cleaned_data["every_queue"] else ""
    asked = "?repair=1" if form.cleaned_data["repair"] else ""
    return planned(request, Order(Kind.RESUBMIT, reach), chosen, scope, asked)


def ordered(
    request: HttpRequest, subject: Subject, chosen: Chosen | Sought
) -> HttpResponse:
    """Show the form; when it is sent and valid, plan the operation and show it."""
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
    request: HttpRequest,
    what: Order,
    chosen: Chosen | Sought,
    scope: str,
    query: str = "",
) -> HttpResponse:
    """Plan the operation, and redirect to the plan, with this query.

    Raises:
        NoSuchQueue: the target does not exist, or is hidden from the user.
        NotAuthorized: an authority is missing; nothing is planned.
    """
    plan = rights.plan(request.user, what, chosen, scope=scope)
    return redirect(reverse("console:operation", args=[plan.pk]) + query)


def offers_for(
    user: authorities.Principal, subject: Subject, chosen: str
) -> Iterator[Offer]:
    """The kinds of operations for these messages, the harmless first."""
    held = authorities.held_by(user)
    for kind, words in wording.WORDS.items():
        if not subject.states & AMONG.get(Kind(kind), subject.states):
            continue
        needs = NEEDS[kind]
        lacks = [
            f"You lack the authority “{authority}” on {subject.queue}."
            for authority in (needs.source, None if words.goes else needs.target)
            if authority and subject.queue and not held.on(authority, subject.queue)
        ]
        yield Offer(kind, words, kind == chosen, next(iter(lacks), ""))


def names_for_put(user: authorities.Principal) -> list[str]:
    """The queues to which the user may send, by name."""
    names = Queue.objects.order_by("name").values_list("name", flat=True)
    return sorted(authorities.allowed(user, "put", names))
