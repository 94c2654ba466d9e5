"""The texts of each kind of operation, and the options it needs.

One table serves the form, plan, button, progress and result; pages add numbers and
names. Placeholders: ``n`` the number of messages; ``on`` the source queues; ``to`` the
target queue, the new priority or the new due time. Texts are in English; pages show
their translations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from django.utils.translation import gettext_noop, ngettext

from broker.models import Operation

Kind = Operation.Kind
Numbered = Callable[[int], str]  # the translated text for a number of messages


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one kind of operation."""

    name: str  # name of the kind, in the form and in lists
    heading: Numbered
    doing: str  # text while the operation runs
    done: str  # the result, with the number of processed messages
    tab: str  # heading of the list of processed messages
    plan: Numbered  # the plan, in a sentence
    nothing: str  # the participle in “nothing has been … yet”
    # heading of the target column; empty without targets
    goes: str = gettext_noop("To")
    hint: str = ""  # help text
    title: Numbered | None = None  # of the page, if not the heading
    icon: str = "operations"
    asks: str = ""  # which argument the form asks for: queue, priority, time
    is_followed: bool = False  # consumers get the messages; their outcomes are followed


WORDS: dict[str, Words] = {
    Kind.RESUBMIT: Words(
        name=gettext_noop("Resubmit"),
        heading=lambda n: ngettext(
            "Resubmit %(n)s message", "Resubmit %(n)s messages", n
        ),
        doing=gettext_noop("Sending"),
        done=gettext_noop("%(n)s sent"),
        tab=gettext_noop("Sent"),
        plan=lambda n: ngettext(
            "%(n)s message will go from %(on)s back to %(to)s. Delivery attempts begin"
            " again at 0.",
            "%(n)s messages will go from %(on)s back to %(to)s. Delivery attempts"
            " begin again at 0.",
            n,
        ),
        nothing=gettext_noop("sent"),
        goes=gettext_noop("Back to"),
        hint=gettext_noop(
            "back to the queue it came from; delivery attempts begin again at 0"
        ),
        icon="redelivery",
        asks="reach",
        is_followed=True,
    ),
    Kind.MOVE: Words(
        name=gettext_noop("Move"),
        heading=lambda n: ngettext(
            "Move %(n)s message to %(to)s", "Move %(n)s messages to %(to)s", n
        ),
        doing=gettext_noop("Moving"),
        done=gettext_noop("%(n)s moved to %(to)s"),
        tab=gettext_noop("Moved"),
        plan=lambda n: ngettext(
            "%(n)s message will go from %(on)s to %(to)s.",
            "%(n)s messages will go from %(on)s to %(to)s.",
            n,
        ),
        nothing=gettext_noop("moved"),
        hint=gettext_noop("to another queue"),
        icon="in-flight",
        asks="queue",
        is_followed=True,
    ),
    Kind.COPY: Words(
        name=gettext_noop("Copy"),
        heading=lambda n: ngettext(
            "Copy %(n)s message to %(to)s", "Copy %(n)s messages to %(to)s", n
        ),
        doing=gettext_noop("Copying"),
        done=gettext_noop("%(n)s copied to %(to)s"),
        tab=gettext_noop("Copied"),
        plan=lambda n: ngettext(
            "%(n)s message will be copied to %(to)s. The messages on %(on)s do not"
            " change.",
            "%(n)s messages will be copied to %(to)s. The messages on %(on)s do not"
            " change.",
            n,
        ),
        nothing=gettext_noop("copied"),
        hint=gettext_noop("to another queue; the original stays here"),
        icon="queues",
        asks="queue",
        is_followed=True,
    ),
    Kind.PRIORITY: Words(
        name=gettext_noop("Change priority"),
        heading=lambda n: ngettext(
            "Give %(n)s message priority %(to)s",
            "Give %(n)s messages priority %(to)s",
            n,
        ),
        doing=gettext_noop("Changing"),
        done=gettext_noop("%(n)s given priority %(to)s"),
        tab=gettext_noop("Changed"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will have priority %(to)s.",
            "%(n)s messages on %(on)s will have priority %(to)s.",
            n,
        ),
        nothing=gettext_noop("changed"),
        goes="",
        hint=gettext_noop("from 0 to 9; 9 is delivered first"),
        asks="priority",
    ),
    Kind.DELIVER: Words(
        name=gettext_noop("Deliver now"),
        heading=lambda n: ngettext(
            "Deliver %(n)s message now", "Deliver %(n)s messages now", n
        ),
        doing=gettext_noop("Making ready"),
        done=gettext_noop("%(n)s made ready"),
        tab=gettext_noop("Made ready"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will be ready now, before the time for which it"
            " was due.",
            "%(n)s messages on %(on)s will be ready now, before the time for which"
            " they were due.",
            n,
        ),
        nothing=gettext_noop("made ready"),
        goes="",
        hint=gettext_noop("ready at once, before the time for which it is due"),
        icon="ready",
    ),
    Kind.RESCHEDULE: Words(
        name=gettext_noop("Change the time"),
        heading=lambda n: ngettext(
            "Make %(n)s message due at %(to)s", "Make %(n)s messages due at %(to)s", n
        ),
        doing=gettext_noop("Changing"),
        done=gettext_noop("%(n)s due at %(to)s"),
        tab=gettext_noop("Changed"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will be due at %(to)s, instead of the time until"
            " which they wait now.",
            "%(n)s messages on %(on)s will be due at %(to)s, instead of the time until"
            " which they wait now.",
            n,
        ),
        nothing=gettext_noop("changed"),
        goes="",
        hint=gettext_noop("it waits until another time than that for which it is due"),
        icon="delayed",
        asks="time",
    ),
    Kind.DEAD_LETTER: Words(
        name=gettext_noop("Send to dead letters"),
        heading=lambda n: ngettext(
            "Send %(n)s message to dead letters",
            "Send %(n)s messages to dead letters",
            n,
        ),
        doing=gettext_noop("Sending"),
        done=gettext_noop("%(n)s sent to dead letters"),
        tab=gettext_noop("Sent"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will become dead letters.",
            "%(n)s messages on %(on)s will become dead letters.",
            n,
        ),
        nothing=gettext_noop("sent"),
        goes="",
        hint=gettext_noop("as if all its delivery attempts had failed"),
        icon="dead",
    ),
    Kind.EXPIRE: Words(
        name=gettext_noop("Expire now"),
        heading=lambda n: ngettext("Expire %(n)s message", "Expire %(n)s messages", n),
        doing=gettext_noop("Expiring"),
        done=gettext_noop("%(n)s expired"),
        tab=gettext_noop("Expired"),
        plan=lambda n: ngettext(
            "The time to live of %(n)s message on %(on)s will end.",
            "The time to live of %(n)s messages on %(on)s will end.",
            n,
        ),
        nothing=gettext_noop("expired"),
        goes="",
        hint=gettext_noop("its time to live ends at once"),
        icon="gone",
    ),
    Kind.REMOVE: Words(
        name=gettext_noop("Remove"),
        heading=lambda n: ngettext("Remove %(n)s message", "Remove %(n)s messages", n),
        doing=gettext_noop("Removing"),
        done=gettext_noop("%(n)s removed"),
        tab=gettext_noop("Removed"),
        plan=lambda n: ngettext(
            "%(n)s message will go from %(on)s to the discard bin: no consumer gets"
            " messages there, and they can be restored until their retention is over.",
            "%(n)s messages will go from %(on)s to the discard bin: no consumer gets"
            " messages there, and they can be restored until their retention is over.",
            n,
        ),
        nothing=gettext_noop("removed"),
        goes="",
        hint=gettext_noop(
            "off its queue and into the discard bin: archived, and restorable for a"
            " while"
        ),
        icon="discards",
    ),
}
