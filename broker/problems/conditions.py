"""The table of conditions, the most urgent first.

Other applications add rows: ``CONDITIONS`` of their module ``conditions``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule
from django.utils.translation import gettext_noop

from broker.monitoring.dead_letters import LOOKED_AT
from broker.problems import of_dead_letters, of_links, of_queues, of_work
from broker.problems.problem import Bound, Condition, Name, Problem
from broker.problems.readings import Readings

MEND = gettext_noop(
    "Remove the cause of the error, then resubmit the letters of the group."
)
CONDITIONS = (
    Condition(Name.STOPPED, gettext_noop("delivery stopped"), of_queues.stopped,
        "consumers",
        gettext_noop("delivery to consumers has stopped"),
        gettext_noop("Remove what keeps the message from being moved, and start"
            " delivery again."),
        gettext_noop("Since")),
    Condition(Name.LINK, gettext_noop("link failed"), of_links.failed, "link",
        gettext_noop("a link has failed, or transfers nothing"),
        gettext_noop("Read the last error on the page of the link, remove its cause,"
            " and start it."),
        gettext_noop("Since"),
        permission="broker.view_link", needs_each_queue=True),
    Condition(Name.IN_DOUBT, gettext_noop("in doubt"), of_links.in_doubt, "link",
        gettext_noop("transactions of a link have been in doubt for a minute"),
        gettext_noop("Start the link, and see that the other broker is reachable; or"
            " decide how the transaction ends."),
        gettext_noop("The first began"),
        permission="broker.view_link", needs_each_queue=True),
    Condition(Name.GROWTH, gettext_noop("new dead letters"), of_dead_letters.growth,
        "group",
        gettext_noop("a group has {count} or more new dead letters within {within}"),
        MEND,
        gettext_noop("The last died"), threshold=(1, LOOKED_AT)),
    Condition(Name.NEW_CAUSE, gettext_noop("new cause"), of_dead_letters.new_causes,
        "group",
        gettext_noop("a dead letter of a cause not known before {within}"),
        MEND,
        gettext_noop("The last died")),
    Condition(Name.NOT_CONSUMED, gettext_noop("not consumed"), of_queues.untaken,
        "queue",
        gettext_noop("messages are ready, and no consumer takes any"),
        gettext_noop("See whether the consumer of the queue runs and can reach the"
            " broker."),
        gettext_noop("The oldest waits since")),
    Condition(Name.LATE, gettext_noop("late"), of_queues.late, "scheduled",
        gettext_noop("delayed messages are overdue"),
        gettext_noop("See whether a worker or a dispatcher runs: it makes them ready."),
        gettext_noop("The first was due")),
    Condition(Name.UNIT, gettext_noop("held"), of_work.lost_units, "unit",
        gettext_noop("a unit of work is past its deadline, or its process has ended"),
        gettext_noop("See whether a worker or a dispatcher runs: it backs out these"
            " units of work."),
        gettext_noop("Held since")),
    Condition(Name.PAUSED, gettext_noop("paused"), of_queues.paused, "queue",
        gettext_noop("a queue is paused"),
        gettext_noop("Resume the queue when its consumers may go on."),
        gettext_noop("It resumes")),
    Condition(Name.APPROVAL, gettext_noop("approval"), of_work.approvals, "operation",
        gettext_noop("an operation waits for an approval"),
        gettext_noop("Read the plan, and approve or cancel it."),
        gettext_noop("Planned")),
    Condition(Name.AGE, gettext_noop("old messages"), of_queues.old, "queue",
        gettext_noop("the oldest message has waited {time} or more"),
        gettext_noop("See whether its consumers keep up, and what they wait for."),
        threshold=(1, 2**31), is_by_rule=True),
    Condition(Name.DEPTH, gettext_noop("deep queue"), of_queues.deep, "queue",
        gettext_noop("a queue has {count} or more messages"),
        gettext_noop("See whether its consumers keep up, and add some if they do not."),
        threshold=(1, 2**62), is_by_rule=True),
    Condition(Name.PREPARED, gettext_noop("prepared"), of_work.undecided, "health",
        gettext_noop("units of work wait for their coordinator"),
        gettext_noop("Start their coordinator; if it is gone for good, decide in its"
            " place."),
        gettext_noop("The first began"), is_of_all_queues=True),
    Condition(Name.DEAD_LETTERS, gettext_noop("dead letters"), of_dead_letters.dead,
        "dead_letters",
        gettext_noop("a queue has {count} or more dead letters"),
        gettext_noop("Read their causes, then resubmit or discard them."),
        threshold=(1, 2**62)),
    Condition(Name.DISK, gettext_noop("disk"), of_work.full_disk, "health",
        # The sign begins no format here: xgettext:no-python-format
        gettext_noop("{count} % of the disk or more are in use"),
        gettext_noop("Free some space, or enlarge the disk: when it is full, nothing"
            " can be put, got or accepted. Shorter retention"
            " (BROKER_JOURNAL_RETENTION_DAYS, BROKER_MESSAGE_RETENTION_DAYS) makes the"
            " database smaller."),
        threshold=(1, 100)),
    Condition(Name.SILENT, gettext_noop("silent process"), of_work.silent, "health",
        gettext_noop("a process does not answer"),
        gettext_noop("Continue it (SIGCONT), or kill it: what it holds is then backed"
            " out, and another process can go on.")),
    Condition(Name.PASSWORD, gettext_noop("password lost"), of_links.lost_passwords,
        "health",
        gettext_noop("the password of a connection factory cannot be decrypted"),
        gettext_noop("Add that key again, at the end, and start the processes again;"
            " or enter the password anew."),
        permission="broker.view_connectionfactory"),
    Condition(Name.SETTINGS, gettext_noop("settings"), of_queues.misconfigured,
        "health",
        gettext_noop("settings may lose or block messages"),
        gettext_noop("Change the setting as Health says.")),
)  # fmt: skip


@cache
def table() -> dict[str, Condition]:
    """All conditions by name: the broker's, then those of other applications."""
    rows = list(CONDITIONS)
    for one in apps.get_app_configs():
        if module_has_submodule(one.module, "conditions"):
            rows += import_module(f"{one.name}.conditions").CONDITIONS
    return {one.name.value: one for one in rows}


def of(name: str, seen: Readings | None = None) -> list[Problem]:
    """The problems of one condition: beyond the bound of the table, or of any enabled
    rule if only a rule says how much is too much."""
    condition, seen = table()[name], seen or Readings()
    bounds = [Bound()]
    if condition.is_by_rule:
        bounds = [Bound.of(one) for one in seen.rules if one.condition == name]
    found = (one for bound in bounds for one in condition.found(seen, bound))
    return list({one.subject: one for one in found}.values())
