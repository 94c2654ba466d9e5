"""Orders for alerts, for all doors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from broker.acts.alerts import (
    AcknowledgeAlert,
    AcknowledgeAlerts,
    EndAlertSilence,
    SendTestNotification,
    SilenceAlerts,
)
from broker.models import Alert, AlertSilence, AlertTarget
from tests.console.act_doors import Example
from tests.console.alerts.alert_acts import make_alert, make_mail_target, make_silence
from tests.console.letters import die, make_places

SOON = timezone.now() + timedelta(hours=4)
ABSENT = 987_654_321


def make_cause() -> Mapping[str, Any]:
    make_places()
    return {"fingerprint": die().fingerprint, "until": SOON}


EXAMPLES = {
    "acknowledge_alert": Example(
        AcknowledgeAlert,
        "console:acknowledge_alert",
        about=("alert",),
        make=lambda: {"alert": make_alert().pk},
        absent={"alert": ABSENT},
        missing="There is no alert",
        changes=(Alert,),
    ),
    "acknowledge_alerts": Example(
        AcknowledgeAlerts,
        "console:acknowledge_alerts",
        about=(),
        make=lambda: {"alerts": (make_alert().pk,)},
        absent={"alerts": (ABSENT,)},
        missing="There is no alert",
        changes=(Alert,),
    ),
    "silence_alerts": Example(
        SilenceAlerts,
        "console:silence_cause",
        about=("fingerprint",),
        make=make_cause,
        absent={"fingerprint": "f" * 12, "until": SOON},
        missing="dead letters",
        changes=(AlertSilence,),
    ),
    "end_alert_silence": Example(
        EndAlertSilence,
        "console:end_silence",
        about=("silence",),
        make=lambda: {"silence": make_silence().pk},
        absent={"silence": ABSENT},
        missing="There is no silence",
        changes=(AlertSilence,),
    ),
    "send_test_notification": Example(
        SendTestNotification,
        "console:send_test",
        about=("target",),
        make=lambda: {"target": make_mail_target().name},
        absent={"target": "ops"},
        missing="There is no alert target",
        changes=(AlertTarget,),
        is_hidden=False,
    ),
}
