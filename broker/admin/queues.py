"""Queues, model queues, aliases and subscriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy, ngettext

from broker.admin.advising import AdvisingAdmin, advising
from broker.admin.fieldsets import folded
from broker.admin.names import NamedForm
from broker.declarations.applying import lock_out_puts, remove_queue
from broker.errors.messages import InvalidSelector
from broker.formats.quantities import write_count
from broker.formats.selectors.parsing import parse
from broker.models import Discarded, ModelQueue, Queue, QueueAlias, Subscription
from broker.queueing import journal

POISON = gettext_lazy(
    "A consumer that meets a message which was backed out as often as the threshold"
    " says moves it to the backout queue. Whether consumers do so is the poison policy"
    " of the address, under Address settings."
)
THRESHOLD = ("backout_threshold", "backout_queue")
LIMITS = ("max_depth", "max_message_bytes")


class QueueForm(NamedForm):
    def clean_selector(self) -> str:
        """Refuse a selector that cannot be parsed."""
        selector: str = self.cleaned_data["selector"]
        try:
            if selector:
                parse(selector)
        except InvalidSelector as error:
            raise ValidationError(str(error)) from error
        return selector


@admin.register(Queue)
class QueueAdmin(AdvisingAdmin):
    form = QueueForm
    list_display = ["name", "address", "routing_type", "kind", "state", "created_at"]
    list_filter = ["paused", "put_inhibited", "kind", "routing_type"]
    list_select_related = ["address"]
    search_fields = ["name", "address__name"]
    autocomplete_fields = ["address"]
    ordering = ["name"]
    fieldsets = [
        (None, {"fields": ["name", "address", "description"]}),
        folded(
            gettext_lazy("Poison messages"),
            [
                *(*THRESHOLD, "max_resubmits"),
                *("harden_backout", "counts_when_lost"),
            ],
            POISON,
        ),
        folded(gettext_lazy("Limits"), [*LIMITS, "selector"]),
        folded(gettext_lazy("Delivery"), ["routing_type", "paused", "put_inhibited"]),
        folded(gettext_lazy("Whom to ask"), ["contact", "runbook"]),
        folded(
            gettext_lazy("Operations"),
            ["reason_above", "approval_above"],
            gettext_lazy("What somebody does to many of its messages at once."),
        ),
    ]

    @admin.display(description=gettext_lazy("state"))
    def state(self, queue: Queue) -> str:
        """The queue's state as text; the admin's red cross would look like an error."""
        states = [gettext("paused")] if queue.paused else []
        states += [gettext("put-inhibited")] if queue.put_inhibited else []
        return ", ".join(states)

    def get_deleted_objects(
        self, objs: Iterable[Queue], request: HttpRequest
    ) -> tuple[Any, Any, Any, list[str]]:
        """Refuse to delete a queue that holds messages; they would be lost. List the
        discarded messages of the queues, too."""
        chosen = list(objs)
        found, counts, missing, kept = super().get_deleted_objects(chosen, request)
        found = [*found, *in_the_bin(chosen)]
        return found, counts, missing, [*kept, *still_held(chosen)]

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        self.delete_empty(request, Queue.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet) -> None:
        self.delete_empty(request, queryset)

    def delete_empty(self, request: HttpRequest, queues: QuerySet[Queue]) -> None:
        """Delete queues, while nobody can put to them.

        Raises:
            QueueNotEmpty: a message has come since the page was shown.
            ObjectInUse: transactions that put or got messages are open too long.
        """
        with advising(request):
            lock_out_puts([queue.name for queue in queues])
            for queue in queues:
                remove_queue(queue, purge=False)


def still_held(queues: Iterable[Queue]) -> Iterator[str]:
    depths = journal.depths()
    for queue in queues:
        held = depths.get(queue.pk, journal.Depth()).total
        if held:
            yield ngettext(
                "%(queue)s holds %(n)s message. Let its consumers take them, or move or"
                " discard them first.",
                "%(queue)s holds %(n)s messages. Let its consumers take them, or move"
                " or discard them first.",
                held,
            ) % {"queue": queue, "n": write_count(held)}


def in_the_bin(queues: Iterable[Queue]) -> Iterator[str]:
    """Sentences about the discarded messages of queues: they can be restored only to a
    queue of the same name."""
    for queue in queues:
        count = Discarded.objects.filter(queue_id=queue.pk).count()
        if count:
            yield ngettext(
                "%(n)s discarded message of %(queue)s: the discard bin can restore it"
                " only to a new queue of that name.",
                "%(n)s discarded messages of %(queue)s: the discard bin can restore"
                " them only to a new queue of that name.",
                count,
            ) % {"queue": queue, "n": write_count(count)}


@admin.register(ModelQueue)
class ModelQueueAdmin(AdvisingAdmin):
    form = NamedForm
    list_display = ["name", "permanent", "backout_threshold", "backout_queue"]
    search_fields = ["name"]
    fieldsets = [
        (
            None,
            {
                "description": gettext_lazy(
                    "Queues that the broker makes are copies of a model as"
                    " it is then; a later change has no effect on them."
                ),
                "fields": ["name", "permanent"],
            },
        ),
        (gettext_lazy("Poison messages"), {"description": POISON, "fields": THRESHOLD}),
        folded(gettext_lazy("Limits"), LIMITS),
    ]


@admin.register(QueueAlias)
class QueueAliasAdmin(AdvisingAdmin):
    form = NamedForm
    list_display = ["name", "target"]
    search_fields = ["name", "target"]


@admin.register(Subscription)
class SubscriptionAdmin(admin.ModelAdmin):
    """Read-only: clients subscribe and unsubscribe."""

    list_display = ["__str__", "client_id", "address", "durable", "queue", "created_at"]
    list_filter = ["durable"]
    list_select_related = ["address", "queue"]
    search_fields = ["name", "client_id", "address__name", "queue__name"]

    def has_add_permission(self, *_: Any) -> bool:
        return False

    def has_change_permission(self, *_: Any) -> bool:
        return False

    def has_delete_permission(self, *_: Any) -> bool:
        return False
