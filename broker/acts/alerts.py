"""Acts on alerts: acknowledge, silence, end a silence, test a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Annotated, Any, ClassVar

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, Reason, declared
from broker.acts.objects import find_rule, find_target
from broker.alerts import acts, notifications, owed, sight
from broker.errors.alerts import NotFiring
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Act, Alert, AlertSilence
from broker.problems.causes import cause_of
from broker.security import authorities
from broker.security.authorities import EVERYTHING, Principal
from broker.sql import database_now


@dataclass(frozen=True, slots=True)
class AcknowledgeAlert:
    """The alert."""

    alert: Annotated[int, Holds(gettext_noop("Its number."), names="alert")]
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class AlertState:
    """One alert."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "severity", "state", "rule", "queue", "text", "fired_at"),
        "silenced_until",
    )

    id: int
    rule: str
    condition: str
    severity: str  # warning or critical
    state: str  # firing, acknowledged or resolved
    subject: str
    queue: str  # empty: the alert concerns no queue
    fingerprint: str  # fingerprint of dead letters; else empty
    cause: str  # what has the problem: the same for all alerts of one cause
    text: str
    value: int
    silenced_until: datetime | None
    first_seen_at: datetime
    fired_at: datetime
    last_seen_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str
    resolved_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoryEvent:
    """What happened to an alert."""

    at: datetime
    kind: str
    actor: str  # empty: the broker
    detail: str


@dataclass(frozen=True, slots=True)
class AlertStory(AlertState):
    """An alert with its story."""

    events: list[StoryEvent]

    def __str__(self) -> str:
        return f"Alert {self.id} of {self.rule} is {self.state}: {self.text}"


def state_of(alert: Alert, silences: Iterable[AlertSilence]) -> AlertState:
    return AlertState(**facts_of(alert, silences))


def story_of(alert: Alert) -> AlertStory:
    facts = facts_of(alert, notifications.silences_at(database_now()))
    events = alert.events.values("at", "kind", "actor", "detail")
    return AlertStory(**facts, events=[StoryEvent(**one) for one in events])


def facts_of(alert: Alert, silences: Iterable[AlertSilence]) -> dict[str, Any]:
    silence = owed.silence_of(alert, silences)
    facts = {
        "rule": alert.rule_name,
        "cause": cause_of(alert).name,
        "silenced_until": silence.ends_at if silence else None,
    }
    names = {one.name for one in fields(AlertState)} - facts.keys()
    return facts | {name: getattr(alert, name) for name in names}


@declared(permission=sight.OPERATE, recorded_as=Act.ACKNOWLEDGE_ALERT)
def acknowledge_alert(actor: Principal, request: AcknowledgeAlert) -> AlertStory:
    """Acknowledge an alert and all others of its cause: you see to it.

    Nobody else is told, and nothing is repeated, until it is resolved. A cause is a
    group of dead letters, a queue, a link or whatever else has the problem.
    """
    number = request.alert
    done = acknowledged(actor, (number,), request.reason)
    alert = Alert.objects.get(pk=number)
    if alert not in done:
        raise NotFiring(number, alert.state)
    return story_of(alert)


@dataclass(frozen=True, slots=True)
class AcknowledgeAlerts:
    """The alerts; without any, all that fire."""

    alerts: Annotated[
        tuple[int, ...],
        Holds(
            gettext_noop("The numbers of the alerts; none: all."),
            most=sight.MOST,
            is_argument=True,
        ),
    ] = ()
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class AcknowledgedAlerts:
    """The alerts that were acknowledged."""

    alerts: list[AlertState]

    @property
    def changed(self) -> bool:
        return bool(self.alerts)

    def __str__(self) -> str:
        return f"{write_count(len(self.alerts), 'alert')} acknowledged."


@declared(permission=sight.OPERATE, recorded_as=Act.ACKNOWLEDGE_ALERT)
def acknowledge_alerts(
    actor: Principal, request: AcknowledgeAlerts
) -> AcknowledgedAlerts:
    """Acknowledge several alerts, or all that fire: you take care of them.

    Each is acknowledged with all others of its cause. Without numbers, these are all
    that fire and that you may see, the worst 500. Those that are over or acknowledged
    already stay as they are.
    """
    done = acknowledged(actor, request.alerts, request.reason)
    silences = list(notifications.silences_at(database_now()))
    return AcknowledgedAlerts([state_of(one, silences) for one in done])


def acknowledged(
    actor: Principal, numbers: tuple[int, ...], reason: str
) -> list[Alert]:
    """Acknowledge alerts, each with the others of its cause."""
    found = sight.firing_of(actor, authorities.held_by(actor), numbers)
    return acts.acknowledge([one.pk for one in found], by=actor, reason=reason)


@dataclass(frozen=True, slots=True)
class SilenceAlerts:
    """Which alerts, and until when: all that is given must fit."""

    until: Annotated[
        datetime, Holds(gettext_noop("Until when, or for how long: at most 30 days."))
    ]
    rule: Annotated[
        str | None,
        Holds(gettext_noop("Those of this rule."), names="alert rule", most=60),
    ] = None
    queue: Annotated[
        str,
        Holds(
            gettext_noop("Those of this queue, or of a pattern of queues."), most=255
        ),
    ] = ""
    fingerprint: Annotated[
        str,
        Holds(
            gettext_noop("Those about dead letters with this fingerprint."), most=100
        ),
    ] = ""
    reason: Reason = ""


@dataclass(frozen=True, slots=True)
class SilenceState:
    """A silence."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "rule", "queue", "fingerprint", "reason", "by", "begins_at", "ends_at"),
    )

    id: int
    rule: str
    queue: str
    fingerprint: str
    reason: str
    by: str
    begins_at: datetime
    ends_at: datetime
    changed: bool = True  # false: the silence had ended before

    def __str__(self) -> str:
        return f"Silence {self.id} lasts until {moments.in_utc(self.ends_at)}."


def read_silence(one: AlertSilence, *, changed: bool = True) -> SilenceState:
    names = ("id", "fingerprint", "reason", "by", "begins_at", "ends_at")
    return SilenceState(
        **{name: getattr(one, name) for name in names},
        rule=one.rule.name if one.rule else "",
        queue=one.queues,
        changed=changed,
    )


@declared(permission=sight.OPERATE, recorded_as=Act.SILENCE_ALERTS)
def silence_alerts(actor: Principal, request: SilenceAlerts) -> SilenceState:
    """Silence alerts for a time.

    Nobody is told of them. They go on, and what still fires at the end is told then.
    Without a queue and a fingerprint, it takes the authority to inquire every queue.
    """
    sight.require_scope(actor, queue=request.queue, fingerprint=request.fingerprint)
    made = acts.silence(
        request.until,
        rule=find_rule(request.rule) if request.rule else None,
        queues=request.queue,
        fingerprint=request.fingerprint,
        by=actor,
        reason=request.reason,
    )
    return read_silence(made)


@dataclass(frozen=True, slots=True)
class EndAlertSilence:
    """The silence."""

    silence: Annotated[int, Holds(gettext_noop("Its number."), names="silence")]


@declared(permission=sight.OPERATE, recorded_as=Act.END_SILENCE)
def end_alert_silence(actor: Principal, request: EndAlertSilence) -> SilenceState:
    """End a silence before its time."""
    changed = acts.end_silence(request.silence, by=actor)
    silence = sight.found_silence(EVERYTHING, request.silence)
    return read_silence(silence, changed=changed)


@dataclass(frozen=True, slots=True)
class SendTestNotification:
    """The target."""

    target: Annotated[
        str, Holds(gettext_noop("Its name."), names="alert target", most=60)
    ]


@dataclass(frozen=True, slots=True)
class NotificationTaken:
    """What the other side answered."""

    target: str
    answer: str

    def __str__(self) -> str:
        return f"{self.target}: {self.answer}"


@declared(permission=sight.TEST, recorded_as=Act.TEST_TARGET)
def send_test_notification(
    actor: Principal, request: SendTestNotification
) -> NotificationTaken:
    """Send a test notification to a target.

    It is sent at once, also in quiet hours. It is refused if the other side does not
    take it.
    """
    target = find_target(request.target)
    return NotificationTaken(target.name, acts.try_out(target, by=actor))
