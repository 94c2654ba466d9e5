"""Alerts and silences over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.alerts import (
    acknowledge_alert,
    acknowledge_alerts,
    end_alert_silence,
    send_test_notification,
    silence_alerts,
)
from console.alerts import causes
from console.alerts.queries import list_alerts, list_silences, read_alert
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query

router = Router(tags=["alerts"])
ONE, SILENCES = "/alerts/{int:alert_id}", "/alert-silences"
END, TEST = (
    f"{SILENCES}/{{int:silence_id}}/end",
    "/alert-targets/{queue:alert_target}/test",
)

serve_query(router, "/alerts", list_alerts)
serve_query(router, ONE, read_alert, alert_id="alert")
serve(
    router,
    "POST",
    f"{ONE}/acknowledge",
    acknowledge_alert,
    after=causes.forget,
    alert_id="alert",
)
serve(router, "POST", "/alerts/acknowledge", acknowledge_alerts, after=causes.forget)
serve_query(router, SILENCES, list_silences)
serve(router, "POST", SILENCES, silence_alerts)
serve(router, "POST", END, end_alert_silence, silence_id="silence")
serve(router, "POST", TEST, send_test_notification, alert_target="target")
