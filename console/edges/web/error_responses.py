"""Turns errors of the broker into HTTP responses: the error's text and a status. No
other module does so for pages.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import csrf, defaults

from broker import errors
from broker.errors import (
    acts,
    alerts,
    answers,
    bridges,
    discards,
    groups,
    messages,
    operations,
    patches,
    queues,
    redaction,
    rules,
    tasks,
    units_of_work,
)
from broker.errors import settings as of_settings
from console.edges import denials, hidden
from dashboards.reports import errors as of_reports

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
    acts.InvalidRequest: 422,
    acts.NoPerson: 403,
    acts.NotPermitted: 403,
    alerts.AlertError: 409,
    alerts.AddressRefused: 422,
    alerts.InvalidAlert: 422,
    alerts.NoSuchAlert: 404,
    alerts.NotDelivered: 503,
    answers.AnotherRequest: 422,
    answers.StillUnderWay: 409,
    bridges.BridgeError: 409,
    bridges.NoSuchBranch: 404,
    bridges.NoSuchBridge: 404,
    bridges.NoSuchLink: 404,
    bridges.NoSuchPart: 404,
    bridges.WrongBridge: 422,
    discards.DiscardedExpired: 409,
    discards.NotInDiscardBin: 409,
    groups.InvalidSnooze: 400,
    groups.InvalidTicket: 400,
    groups.NoSuchGroup: 404,
    messages.InvalidBatch: 400,
    messages.InvalidFilter: 400,
    messages.InvalidSelector: 400,
    messages.MalformedHeader: 400,
    messages.MissingReplyTo: 400,
    messages.NoSuchMessage: 404,
    messages.SearchTooLong: 503,
    messages.WrongExpiry: 400,
    messages.WrongPersistence: 400,
    messages.WrongReportOptions: 400,
    operations.InvalidCanary: 400,
    operations.InvalidDueTime: 400,
    operations.InvalidPace: 400,
    operations.ApprovalExpired: 409,
    operations.ApprovalNeeded: 409,
    operations.InvalidPriority: 400,
    operations.InvalidStart: 400,
    operations.NotApprovable: 409,
    operations.NoSuchOperation: 404,
    operations.NothingChosen: 409,
    operations.NotUndoable: 409,
    operations.NotUndone: 409,
    operations.ReasonMissing: 400,
    patches.InvalidPatch: 422,
    patches.NotPatchable: 409,
    patches.NotRepaired: 409,
    patches.PatchNotLooked: 409,
    operations.OwnApproval: 403,
    operations.ReasonNeeded: 409,
    queues.CauseRemains: 409,
    queues.DeliveryStopped: 409,
    queues.GetInhibited: 409,
    queues.NoMessageUnderCursor: 409,
    queues.MessageTooBigForQueue: 413,
    queues.NoModelQueue: 409,
    queues.NoSuchConnection: 404,
    queues.NoSuchCredential: 404,
    queues.NoSuchRecurringMessage: 404,
    queues.NoSuchQueueManager: 404,
    queues.NoSuchSubscription: 404,
    queues.NotAuthorized: 403,
    queues.PauseEndPassed: 400,
    queues.PutInhibited: 409,
    queues.QueueFull: 409,
    queues.QueueNotEmpty: 409,
    queues.SubscriptionInUse: 409,
    of_reports.NoSuchReport: 404,
    of_reports.NoSuchRun: 404,
    redaction.MaskedMessage: 403,
    redaction.MaskedSearch: 403,
    redaction.UnmaskingNeedsReason: 400,
    of_settings.AlreadyDeclared: 409,
    of_settings.NoSuchObject: 404,
    of_settings.ChangedSinceRead: 412,
    of_settings.ObjectInUse: 409,
    rules.InvalidRules: 400,
    rules.NoSuchRules: 404,
    rules.RulesChanged: 409,
    of_settings.SettingsChanged: 409,
    of_settings.WrongSettings: 400,
    tasks.NotJson: 400,
    tasks.NoTask: 422,
    tasks.OtherTransaction: 409,
    tasks.ReturnsTooMuch: 422,
    units_of_work.BackedOut: 409,
    units_of_work.MarkNotPossible: 409,
    units_of_work.NoSuchUnitOfWork: 404,
    units_of_work.NoSuchXid: 404,
    units_of_work.TransactionLeftOpen: 409,
    units_of_work.NotCoordinated: 409,
    units_of_work.NotForced: 409,
    units_of_work.SecondMark: 409,
    units_of_work.TooMuchUncommitted: 409,
    units_of_work.WrongOptions: 400,
    units_of_work.WrongXid: 400,
    units_of_work.XidInUse: 409,
}


def status_of(error: errors.BrokerError) -> int:
    """The HTTP status of an error, or of its class."""
    return next((STATUS[one] for one in type(error).__mro__ if one in STATUS), 400)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The response to a request that is too large; others as Django answers them."""
    if not isinstance(exception, RequestDataTooBig):
        return defaults.bad_request(request, exception)
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    told = {"error": exception, "most": most}
    return render(request, "console/413.html", told, status=413)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return defaults.page_not_found(request, exception, "console/404.html")


def denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return defaults.permission_denied(request, exception, "console/403.html")


def old_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The answer to a form without the right token; for ``CSRF_FAILURE_VIEW``."""
    return csrf.csrf_failure(request, reason, "console/403_csrf.html")


# Responses to Django's errors. Without them, pages of the project around the console
# would be shown.
ANSWERS: dict[type[Exception], Callable[[HttpRequest, Exception], HttpResponse]] = {
    Http404: not_found,
    PermissionDenied: denied,
    RequestDataTooBig: bad_request,
}


class RefusalMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        """Answer with the error; htmx gets the text alone, for the live region."""
        denials.note(request, error)
        if not isinstance(error, errors.BrokerError):
            answer = ANSWERS.get(type(error))
            return answer(request, error) if answer else None
        if isinstance(error, acts.NotPermitted):
            return denied(request, error)
        if hidden.hides(request, error):
            return not_found(request, Http404())
        is_part = "HX-Request" in request.headers
        template = "console/_refusal.html" if is_part else "console/refusal.html"
        status = status_of(error)
        return render(request, template, {"error": error}, status=status)
