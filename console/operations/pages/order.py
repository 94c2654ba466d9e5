"""New operations: the user chooses an action for messages; then the plan is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import BadRequest
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from broker import acts, errors, operations
from broker.acts.operations.planning import PlanOperation, find_messages
from broker.acts.operations.resubmits import PlanResubmit
from broker.acts.operations.rights import NEEDS
from broker.errors.messages import InvalidSelector, SearchTooLong
from broker.errors.operations import InvalidDueTime, InvalidPriority, NothingChosen
from broker.models import DeadLetter, Operation, Queue
from broker.monitoring import visible_search
from broker.operations import Sought
from broker.operations.approvals import HARD
from broker.operations.planning import PlanCount
from broker.security import authorities
from console.edges import denials
from console.messages.dead_letter_query import (
    PlanForm,
    SelectionForm,
    fields_of,
    names_for,
)
from console.operations.order_form import (
    UNCHOSEN,
    ChosenForm,
    FoundForm,
    OrderForm,
)
from console.operations.words import WORDS, Words

Kind = Operation.Kind
NO_QUOTES = str.maketrans("", "", "“”")
AMONG = {  # states that messages must have, for some kinds
    Kind.RESUBMIT: {"dead"},
    Kind.DELIVER: {"delayed"},
    Kind.RESCHEDULE: {"delayed"},
    Kind.DEAD_LETTER: {"ready", "delayed"},
}
# the form field at which an error is shown; None: above the form
WRONG: dict[type[errors.BrokerError], str | None] = {
    errors.NoSuchQueue: "to",
    errors.NotResubmittable: None,
    InvalidDueTime: "due_at",
    InvalidPriority: "priority",
    InvalidSelector: "selector",
    SearchTooLong: None,
    NothingChosen: None,
}


@dataclass(frozen=True, slots=True)
class Subject:
    """The messages of a new operation."""

    title: str
    back: str  # the page on which the messages were chosen
    pairs: Sequence[tuple[str, object]]  # form fields that choose the messages again
    states: frozenset[str]  # the possible states of the messages: ready, delayed, dead
    whence: str = ""  # the title of the page ``back``
    queue: str = ""  # the queue of all messages, if they are on one queue
    is_open: bool = False  # whether a selector may narrow the messages


@dataclass(frozen=True, slots=True)
class Offer:
    """One kind of operation, and why the user may not do it."""

    kind: str
    words: Words
    is_chosen: bool
    obstacle: str = field(default="")

    @property
    def is_hard(self) -> bool:
        return self.kind in HARD


@require_http_methods(["GET", "HEAD", "POST"])
def order(request: HttpRequest, name: str) -> HttpResponse:
    """Choose an action for messages on one queue."""
    acts.require(request.user, PlanOperation(UNCHOSEN, source=name))
    queue = get_object_or_404(Queue, name=name)
    said = request.POST if request.method == "POST" else request.GET
    form = ChosenForm(said)
    back = f"{reverse('console:queue', args=[name])}?place={said.get('place', '')}"
    if not form.is_valid():
        return sent_back(request, form, back)
    what = form.order_on(name)
    subject = Subject(
        title=find_messages(request.user, what).scope,
        back=back,
        pairs=form.pairs,
        states=states_on(queue, form.cleaned_data["place"]),
        queue=name,
        is_open=form.is_of_all,
    )
    return ordered(request, subject, what)


def sent_back(request: HttpRequest, form: Form, back: str) -> HttpResponse:
    """Redirect to the list of messages, with the error in the choice."""
    ((sentence, *_), *_) = form.errors.values()
    messages.error(request, str(sentence))
    return redirect(back)


def states_on(queue: Queue, place: str) -> frozenset[str]:
    """The states of messages in a place on a queue; dead letters may be delayed."""
    here = {place} if place else {"ready", "delayed"}
    letters = DeadLetter.objects.filter(queue_id=queue.pk)
    return frozenset(here | {"dead"} if letters.exists() else here)


@require_http_methods(["GET", "HEAD", "POST"])
def order_found(request: HttpRequest) -> HttpResponse:
    """Choose an action for messages that a filter finds and that the user may see:
    for chosen messages, or for all that match when the plan is made."""
    said = request.POST if request.method == "POST" else request.GET
    texts = said.getlist("f")
    acts.require(request.user, PlanOperation(UNCHOSEN))
    terms = visible_search.search(request.user, texts).filter.terms
    page = [("f", str(term)) for term in terms]
    page += [("after", after) for after in said.getlist("after")]
    back = f"{reverse('console:messages')}?{urlencode(page)}"
    form = FoundForm(said, is_filtered=bool(terms))
    if not form.is_valid():
        return sent_back(request, form, back)
    what = form.order_of(texts, names_for(request.user))
    found = find_messages(request.user, what)
    assert isinstance(found.chosen, Sought)
    try:
        seen = operations.foresee(found.chosen)
    except NothingChosen:
        error = NothingChosen(found.scope.translate(NO_QUOTES))
        messages.error(request, str(error))
        return redirect(back)
    subject = Subject(
        title=counted(seen, found.scope if form.is_of_all else ""),
        back=back,
        pairs=[*page, *form.pairs],
        states=seen.states,
        whence=gettext("Messages"),
    )
    return ordered(request, subject, what)


def counted(seen: PlanCount, scope: str) -> str:
    """The number of the messages that a filter finds, and which these are.

    Args:
        seen: their number.
        scope: all that match, in words; empty: they were chosen one by one.
    """
    if scope:
        text = f"{seen.in_words} {scope.removeprefix('all ')}"
        is_one = text.startswith("1 ")
        return text.replace("messages", "message", 1) if is_one else text
    text = ngettext("%(n)s chosen message", "%(n)s chosen messages", seen.messages)
    return text % {"n": seen.in_words}


@require_http_methods(["GET", "HEAD", "POST"])
def order_letters(request: HttpRequest) -> HttpResponse:
    """Choose an action for dead letters that the user may see."""
    said = request.POST if request.method == "POST" else request.GET
    acts.require(request.user, PlanOperation(UNCHOSEN))
    form = SelectionForm(said)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    what = PlanOperation(UNCHOSEN, letters=form.letters)
    subject = Subject(
        title=find_messages(request.user, what).scope,
        back=reverse("console:dead_letters"),
        pairs=list(fields_of(form.selection).items()),
        states=frozenset({"dead"}),
        whence=gettext("Dead letters"),
    )
    return ordered(request, subject, what)


@require_POST
def plan_resubmit(request: HttpRequest) -> HttpResponse:
    """Plan a resubmit of dead letters that the user may see; with ``repair``, the form
    of a patch is open on the page of the plan."""
    form = PlanForm(request.POST)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    one, every_queue = form.cleaned_data["message"], form.cleaned_data["every_queue"]
    what = PlanResubmit(letters=form.letters, every_queue=every_queue)
    if one:
        what = PlanResubmit(ids=(one,), every_queue=every_queue)
    plan = acts.act(request.user, what)
    query = "?repair=1" if form.cleaned_data["repair"] else ""
    return redirect(reverse("console:operation", args=[plan.operation_id]) + query)


def ordered(
    request: HttpRequest, subject: Subject, what: PlanOperation
) -> HttpResponse:
    """Show the form; when it is sent and valid, plan the operation and show it.

    Raises:
        NotAuthorized: an authority is missing; nothing is planned.
    """
    is_sent = request.method == "POST"
    said = request.POST if is_sent else request.GET
    offers = list(offers_for(request.user, subject, said.get("kind", "")))
    possible = [offer.kind for offer in offers if not offer.obstacle]
    kinds = [offer.kind for offer in offers]
    form = OrderForm(request.POST if is_sent else None, offers=kinds)
    if is_sent and form.is_valid():
        try:
            plan = acts.act(request.user, form.complete(what))
        except tuple(WRONG) as error:
            denials.note(request, error)
            form.add_error(WRONG[type(error)], str(error))
        else:
            return redirect("console:operation", plan.id)
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


def offers_for(
    user: authorities.Principal, subject: Subject, chosen: str
) -> Iterator[Offer]:
    """The kinds of operations for these messages, the harmless first."""
    held = authorities.held_by(user)
    for kind, words in WORDS.items():
        if not subject.states & AMONG.get(Kind(kind), subject.states):
            continue
        needs = NEEDS[kind]
        lacks = [
            gettext("You lack the authority “%(authority)s” on %(queue)s.")
            % {"authority": authority, "queue": subject.queue}
            for authority in (needs.source, None if words.goes else needs.target)
            if authority and subject.queue and not held.on(authority, subject.queue)
        ]
        yield Offer(kind, words, kind == chosen, next(iter(lacks), ""))


def names_for_put(user: authorities.Principal) -> list[str]:
    """The queues to which the user may send, by name."""
    names = Queue.objects.order_by("name").values_list("name", flat=True)
    return sorted(authorities.allowed(user, "put", names))
