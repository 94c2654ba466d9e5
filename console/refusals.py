"""How the console answers when the broker refuses: the error's own words, and a status
that says whose mistake it was. The one place that turns broker errors into HTTP."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from broker import errors
from broker.errors import (
    discards,
    messages,
    operations,
    queues,
    settings,
    units_of_work,
)

STATUS: dict[type[errors.BrokerError], int] = {
    errors.NoSuchAddress: 404,
    errors.NoSuchQueue: 404,
    errors.MessageTooLarge: 413,
    errors.InvalidMessage: 400,
    errors.LockLost: 409,
    errors.UnitOfWorkEnded: 409,
    errors.NotResubmittable: 409,
    errors.OperationNotPlanned: 409,
    errors.UnsafeServer: 503,
    discards.DiscardedExpired: 409,
    discards.NotInDiscardBin: 409,
    messages.InvalidSelector: 400,
    messages.MalformedHeader: 400,
    messages.MissingReplyTo: 400,
    messages.WrongExpiry: 400,
    messages.WrongReportOptions: 400,
    operations.InvalidPriority: 400,
    operations.NothingChosen: 409,
    operations.NotUndoable: 409,
    queues.CauseRemains: 409,
    queues.DeliveryStopped: 409,
    queues.GetInhibited: 409,
    queues.MessageTooBigForQueue: 413,
    queues.NoModelQueue: 409,
    queues.NoSuchQueueManager: 404,
    queues.NoSuchSubscription: 404,
    queues.NotAuthorized: 403,
    queues.PutInhibited: 409,
    queues.QueueFull: 409,
    queues.SubscriptionInUse: 409,
    settings.SettingsChanged: 409,
    settings.WrongSettings: 400,
    units_of_work.BackedOut: 409,
    units_of_work.MarkNotPossible: 409,
    units_of_work.NoSuchXid: 404,
    units_of_work.NotCoordinated: 409,
    units_of_work.SecondMark: 409,
    units_of_work.TooMuchUncommitted: 409,
    units_of_work.WrongOptions: 400,
    units_of_work.WrongXid: 400,
    units_of_work.XidInUse: 409,
}


class RefusalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        """Answer a refusal; htmx gets the words alone, for the live region."""
        if not isinstance(error, errors.BrokerError):
            return None
        is_part = "HX-Request" in request.headers
        template = "console/_refusal.html" if is_part else "console/refusal.html"
        status = STATUS.get(type(error), 400)
        return render(request, template, {"error": error}, status=status)
