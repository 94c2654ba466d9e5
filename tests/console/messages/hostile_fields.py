"""Texts of models that hold no payload, and why."""

from __future__ import annotations

CHOSEN = "the broker chooses it from a few words"
MADE = "the broker makes it: a digest, a number, a time"
CHECKED = "only few texts pass its validator"
NOT_SHOWN = "no page shows it"
EXCUSED_FIELDS = {
    "broker.Alert.condition": CHOSEN,
    "broker.Alert.severity": CHOSEN,
    "broker.Alert.fingerprint": MADE,
    "broker.AlertSilence.fingerprint": MADE,
    "broker.AlertTarget.secret": NOT_SHOWN,
    "broker.AlertTarget.zone": CHECKED,
    "broker.Annotations.annotations": NOT_SHOWN,
    "broker.AuditRecord.hash": MADE,
    "broker.AuditCheck.hash": MADE,
    "broker.Approval.seal": MADE,
    "broker.DeadLetter.fingerprint": MADE,
    "broker.DeadLetterGroup.fingerprint": MADE,
    "broker.Experience.fingerprint": MADE,
    "broker.Watermark.reader": MADE,
    "console.SavedView.slug": MADE,
    "console.BrowserSession.session_key": MADE,
    "console.BrowserSession.session_data": MADE,
    "dashboards.ArchiveFile.table": MADE,
    "dashboards.ArchiveFile.path": MADE,
    "dashboards.ArchiveFile.checksum": MADE,
    "dashboards.PublishedDay.table": MADE,
    "dashboards.ReportRow.report": CHOSEN,
    "dashboards.ReportRun.report": CHOSEN,
    "dashboards.ReportRun.checks": MADE,
    "dashboards.ReportRun.parameters": CHOSEN,
    "broker.CounterReset.counter": CHOSEN,
    "broker.AuditRecord.act": CHOSEN,
    "broker.Owner.kind": CHOSEN,
    "broker.LinkStatus.wanted": CHOSEN,
    "broker.ConnectionFactory.provider": "it is one of a few keys",
    "broker.ConnectionFactory.secret": NOT_SHOWN,
    "broker.HandlerLimit.handler": NOT_SHOWN,
    "broker.Returned.value": NOT_SHOWN,
    "broker.RecurringMessage.crontab": CHECKED,
    "broker.RecurringMessage.time_zone": CHECKED,
    "broker.RuleAttempt.attempts": NOT_SHOWN,
    "broker.Binding.exchange": NOT_SHOWN,
    "broker.Binding.routing_key": NOT_SHOWN,
    "broker.StoredResponse.asker": NOT_SHOWN,
    "broker.StoredResponse.content_type": NOT_SHOWN,
    "broker.StoredResponse.key": NOT_SHOWN,
}
