"""The texts of operations that undo others."""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import gettext_noop, ngettext

from console.operations.words import Kind, Words

BACK = Words(
    name=gettext_noop("Undo"),
    heading=lambda n: ngettext("Put %(n)s message back", "Put %(n)s messages back", n),
    title=lambda n: ngettext(
        "Undo: put %(n)s message back", "Undo: put %(n)s messages back", n
    ),
    doing=gettext_noop("Putting back"),
    done=gettext_noop("%(n)s put back"),
    tab=gettext_noop("Put back"),
    plan=lambda n: ngettext(
        "%(n)s message will go from %(on)s back to %(to)s, at the old place.",
        "%(n)s messages will go from %(on)s back to %(to)s, at the old place.",
        n,
    ),
    nothing=gettext_noop("put back"),
    goes=gettext_noop("Back to"),
    icon="backout",
)
BACK_ON = replace(
    BACK,
    plan=lambda n: ngettext(
        "%(n)s message will be on %(to)s again, at the old place.",
        "%(n)s messages will be on %(to)s again, at the old place.",
        n,
    ),
    goes="",
)
# texts of an undo, by the kind of the operation that it undoes
UNDO: dict[str, Words] = {
    Kind.RESUBMIT: BACK,
    Kind.MOVE: BACK,
    Kind.COPY: Words(
        name=gettext_noop("Undo"),
        heading=lambda n: ngettext(
            "Remove the copies of %(n)s message",
            "Remove the copies of %(n)s messages",
            n,
        ),
        title=lambda n: ngettext(
            "Undo: remove the copies of %(n)s message",
            "Undo: remove the copies of %(n)s messages",
            n,
        ),
        doing=gettext_noop("Removing"),
        done=gettext_noop("%(n)s removed again"),
        tab=gettext_noop("Removed"),
        plan=lambda n: ngettext(
            "The copies of %(n)s message will be removed from %(on)s.",
            "The copies of %(n)s messages will be removed from %(on)s.",
            n,
        ),
        nothing=gettext_noop("removed"),
        goes="",
        icon="backout",
    ),
    Kind.PRIORITY: Words(
        name=gettext_noop("Undo"),
        heading=lambda n: ngettext(
            "Give %(n)s message the old priority",
            "Give %(n)s messages the old priority",
            n,
        ),
        title=lambda n: ngettext(
            "Undo: give %(n)s message the old priority",
            "Undo: give %(n)s messages the old priority",
            n,
        ),
        doing=gettext_noop("Changing back"),
        done=gettext_noop("%(n)s given the old priority"),
        tab=gettext_noop("Changed back"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will have their earlier priority.",
            "%(n)s messages on %(on)s will have their earlier priority.",
            n,
        ),
        nothing=gettext_noop("changed"),
        goes="",
        icon="backout",
    ),
    Kind.DELIVER: Words(
        name=gettext_noop("Undo"),
        heading=lambda n: ngettext(
            "Let %(n)s message wait again", "Let %(n)s messages wait again", n
        ),
        title=lambda n: ngettext(
            "Undo: let %(n)s message wait again",
            "Undo: let %(n)s messages wait again",
            n,
        ),
        doing=gettext_noop("Delaying"),
        done=gettext_noop("%(n)s delayed again"),
        tab=gettext_noop("Delayed again"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will wait again for the time for which it was"
            " due.",
            "%(n)s messages on %(on)s will wait again for the time for which they were"
            " due.",
            n,
        ),
        nothing=gettext_noop("changed"),
        goes="",
        icon="backout",
    ),
    Kind.RESCHEDULE: Words(
        name=gettext_noop("Undo"),
        heading=lambda n: ngettext(
            "Give %(n)s message the old time", "Give %(n)s messages the old time", n
        ),
        title=lambda n: ngettext(
            "Undo: give %(n)s message the old time",
            "Undo: give %(n)s messages the old time",
            n,
        ),
        doing=gettext_noop("Changing back"),
        done=gettext_noop("%(n)s given the old time"),
        tab=gettext_noop("Changed back"),
        plan=lambda n: ngettext(
            "%(n)s message on %(on)s will wait again for the time for which it was"
            " due.",
            "%(n)s messages on %(on)s will wait again for the time for which they were"
            " due.",
            n,
        ),
        nothing=gettext_noop("changed"),
        goes="",
        icon="backout",
    ),
    Kind.DEAD_LETTER: BACK_ON,
    Kind.EXPIRE: BACK_ON,
    Kind.REMOVE: BACK_ON,
}
