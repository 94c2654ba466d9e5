"""Labels of models and of their fields on the pages of Settings, for translation.

Django makes a label from a name. A label that a model gives would be in migrations,
too; so the labels are marked here, and given to the models when the admin is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.db.models import Model
from django.utils.translation import gettext_lazy, gettext_noop

from broker.formats.english import english

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

MODELS = (
    gettext_noop("address"),
    gettext_noop("addresses"),
    gettext_noop("address setting"),
    gettext_noop("address settings"),
    gettext_noop("alert rule"),
    gettext_noop("alert rules"),
    gettext_noop("alert target"),
    gettext_noop("alert targets"),
    gettext_noop("authority"),
    gettext_noop("authorities"),
    gettext_noop("bridge"),
    gettext_noop("bridges"),
    gettext_noop("connection factory"),
    gettext_noop("connection factories"),
    gettext_noop("destination"),
    gettext_noop("destinations"),
    gettext_noop("dead message queue"),
    gettext_noop("dead message queues"),
    gettext_noop("link"),
    gettext_noop("links"),
    gettext_noop("queue"),
    gettext_noop("queues"),
    gettext_noop("model queue"),
    gettext_noop("model queues"),
    gettext_noop("queue alias"),
    gettext_noop("queue aliases"),
    gettext_noop("subscription"),
    gettext_noop("subscriptions"),
    gettext_noop("recurring message"),
    gettext_noop("recurring messages"),
    gettext_noop("redaction rule"),
    gettext_noop("redaction rules"),
)
# Labels without a unit; a label of a field that is a quantity has none on pages.
FIELDS = (
    gettext_noop("active"),
    gettext_noop("address"),
    gettext_noop("approval above"),
    gettext_noop("auto create dead letter resources"),
    gettext_noop("auto create expiry resources"),
    gettext_noop("auto delete queues delay"),
    gettext_noop("backout queue"),
    gettext_noop("backout threshold"),
    gettext_noop("batch"),
    gettext_noop("body"),
    gettext_noop("bridge"),
    gettext_noop("client id"),
    gettext_noop("condition"),
    gettext_noop("connect attempts"),
    gettext_noop("connect interval"),
    gettext_noop("consume on transform error"),
    gettext_noop("contact"),
    gettext_noop("content type"),
    gettext_noop("counts when lost"),
    gettext_noop("created at"),
    gettext_noop("critical passes"),
    gettext_noop("crontab"),
    gettext_noop("dead letter address"),
    gettext_noop("dead letter queue prefix"),
    gettext_noop("dead letter queue suffix"),
    gettext_noop("description"),
    gettext_noop("destination"),
    gettext_noop("discard retention"),
    gettext_noop("duplicate detection"),
    gettext_noop("durable"),
    gettext_noop("durable model"),
    gettext_noop("durable name"),
    gettext_noop("enabled"),
    gettext_noop("error"),
    gettext_noop("escalate after"),
    gettext_noop("escalate after s"),
    gettext_noop("escalate to"),
    gettext_noop("every"),
    gettext_noop("every s"),
    gettext_noop("expiry address"),
    gettext_noop("expiry delay"),
    gettext_noop("expiry queue prefix"),
    gettext_noop("expiry queue suffix"),
    gettext_noop("factory"),
    gettext_noop("for"),
    gettext_noop("for s"),
    gettext_noop("group"),
    gettext_noop("harden backout"),
    gettext_noop("idle timeout"),
    gettext_noop("is enabled"),
    gettext_noop("is shared"),
    gettext_noop("kind"),
    gettext_noop("last at"),
    gettext_noop("log transfers"),
    gettext_noop("lookup name"),
    gettext_noop("loop guard"),
    gettext_noop("match"),
    gettext_noop("max delivery attempts"),
    gettext_noop("max depth"),
    gettext_noop("max expiry delay"),
    gettext_noop("max message size"),
    gettext_noop("max redelivery delay"),
    gettext_noop("max resubmits"),
    gettext_noop("message retention"),
    gettext_noop("min expiry delay"),
    gettext_noop("multi rm"),
    gettext_noop("name"),
    gettext_noop("next at"),
    gettext_noop("no expiry"),
    gettext_noop("nondurable model"),
    gettext_noop("on send failure"),
    gettext_noop("owner id"),
    gettext_noop("pattern"),
    gettext_noop("paused"),
    gettext_noop("permanent"),
    gettext_noop("poison policy"),
    gettext_noop("position"),
    gettext_noop("priority"),
    gettext_noop("properties"),
    gettext_noop("provider"),
    gettext_noop("put inhibited"),
    gettext_noop("queue"),
    gettext_noop("queues"),
    gettext_noop("quiet from"),
    gettext_noop("quiet until"),
    gettext_noop("reason above"),
    gettext_noop("redelivery collision avoidance factor"),
    gettext_noop("redelivery delay"),
    gettext_noop("redelivery delay multiplier"),
    gettext_noop("ref name"),
    gettext_noop("repeat"),
    gettext_noop("repeat s"),
    gettext_noop("retain reply to"),
    gettext_noop("revision"),
    gettext_noop("routing type"),
    gettext_noop("runbook"),
    gettext_noop("selector"),
    gettext_noop("send attempts"),
    gettext_noop("send interval"),
    gettext_noop("send to dla on no route"),
    gettext_noop("severity"),
    gettext_noop("source"),
    gettext_noop("source client id"),
    gettext_noop("source description"),
    gettext_noop("source factory"),
    gettext_noop("stay connected"),
    gettext_noop("subject"),
    gettext_noop("tag messages"),
    gettext_noop("target"),
    gettext_noop("target client id"),
    gettext_noop("target description"),
    gettext_noop("target factory"),
    gettext_noop("targets"),
    gettext_noop("threshold"),
    gettext_noop("time to live"),
    gettext_noop("time zone"),
    gettext_noop("told at"),
    gettext_noop("transacted"),
    gettext_noop("transform failure"),
    gettext_noop("transformer"),
    gettext_noop("transformer time limit"),
    gettext_noop("url"),
    gettext_noop("user"),
    gettext_noop("username"),
    gettext_noop("within"),
    gettext_noop("within s"),
)
# Helps of quantities without the unit in which they are stored
# (``broker.admin.quantities.help_of``).
HELPS = (
    gettext_noop(
        "The time until a backed out message is redelivered. It gives the client time"
        " to recover, and prevents endless immediate redelivery of a message that"
        " always fails (thrashing). Other messages are delivered meanwhile. 0: no"
        " delay."
    ),
    gettext_noop("The longest delay. Default: ten times the redelivery delay."),
    gettext_noop("How long a discarded message can be restored; 0: not at all."),
    gettext_noop(
        "How long a message that was sent to the address stays readable after it has"
        " ended. A longer time than that of the broker (BROKER_MESSAGE_RETENTION_DAYS,"
        " the default) counts from the put."
    ),
    gettext_noop(
        "How long an empty auto-created queue is kept. The next message for it creates"
        " it again."
    ),
    gettext_noop("The expiry of messages that arrive without one; -1: none."),
    gettext_noop(
        "The minimum expiry; also given to messages that never expire. -1: none."
    ),
    gettext_noop(
        "The maximum expiry; also given to messages that never expire. -1: none."
    ),
    gettext_noop(
        "The time between two attempts (connect-attempt-interval-in-seconds)."
    ),
    gettext_noop(
        "The time without a message after which an idle connection is closed, unless it"
        " stays connected; 0: never (idle-timeout-in-seconds)."
    ),
    gettext_noop(
        "Time to live of dead messages; 0: for ever (time-to-live-in-millis)."
    ),
    gettext_noop("The time between two attempts (send-attempt-interval-in-seconds)."),
    gettext_noop(
        "Time limit for one message. With a limit, the transformer runs in its own"
        " process. Empty: no limit."
    ),
    gettext_noop(
        "The largest size of body and headers (MAXMSGL); empty: the limit of the"
        " broker."
    ),
    gettext_noop("The interval, in place of a crontab line."),
)


def mark(models: Iterable[type[Model]]) -> None:
    """Make labels of models translatable. English ones stay the names that they are:
    ``verbose_name_raw``, and ``broker.formats.english``."""
    for model in models:
        meta = model._meta
        meta.verbose_name = of(meta.verbose_name, MODELS)
        meta.verbose_name_plural = of(meta.verbose_name_plural, MODELS)
        for field in (*meta.fields, *meta.many_to_many):
            field.verbose_name = of(field.verbose_name, FIELDS)


def of(label: object, marked: Iterable[str]) -> str | _StrPromise:
    """A label as a lazy translation, if it is marked."""
    text = english(label)
    return gettext_lazy(text) if text in marked else text
