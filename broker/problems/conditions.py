"""The table of conditions, the most urgent first.

Other applications add rows: ``CONDITIONS`` of their module ``conditions``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule

from broker.monitoring.dead_letters import LOOKED_AT
from broker.problems import of_dead_letters, of_links, of_queues, of_work
from broker.problems.problem import Bound, Condition, Name, Problem
from broker.problems.readings import Readings

MEND = "Remove the cause of the error, then resubmit the letters of the group."
CONDITIONS = (
    Condition(Name.STOPPED, "delivery stopped", of_queues.stopped, "consumers",
        "delivery to consumers has stopped",
        "Remove what keeps the message from being moved, and start delivery again.",
        "stopped queue{s}", "Since"),
    Condition(Name.LINK, "link failed", of_links.failed, "link",
        "a link has failed, or transfers nothing",
        "Read the last error on the page of the link, remove its cause, and start it.",
        "failed link{s}", "Since",
        permission="broker.view_link", needs_each_queue=True),
    Condition(Name.IN_DOUBT, "in doubt", of_links.in_doubt, "link",
        "transactions of a link have been in doubt for a minute",
        "Start the link, and see that the other broker is reachable; or decide"
        " how the transaction ends.",
        "such link{s}", "The first began",
        permission="broker.view_link", needs_each_queue=True),
    Condition(Name.GROWTH, "new dead letters", of_dead_letters.growth, "group",
        "a group has {count} or more new dead letters within {within}",
        MEND,
        "group{s}", "The last died", threshold=(1, LOOKED_AT)),
    Condition(Name.NEW_CAUSE, "new cause", of_dead_letters.new_causes, "group",
        "a dead letter of a cause not known before {within}",
        MEND,
        "group{s}", "The last died"),
    Condition(Name.NOT_CONSUMED, "not consumed", of_queues.untaken, "queue",
        "messages are ready, and no consumer takes any",
        "See whether the consumer of the queue runs and can reach the broker.",
        "such queue{s}", "The oldest waits since"),
    Condition(Name.LATE, "late", of_queues.late, "scheduled",
        "delayed messages are overdue",
        "See whether a worker or a dispatcher runs: it makes them ready.",
        "such queue{s}", "The first was due"),
    Condition(Name.UNIT, "held", of_work.lost_units, "unit",
        "a unit of work is past its deadline, or its process has ended",
        "See whether a worker or a dispatcher runs: it backs out these units of work.",
        "unit{s} of work", "Held since"),
    Condition(Name.PAUSED, "paused", of_queues.paused, "queue",
        "a queue is paused",
        "Resume the queue when its consumers may go on.", "paused queue{s}",
        "It resumes"),
    Condition(Name.APPROVAL, "approval", of_work.approvals, "operation",
        "an operation waits for an approval",
        "Read the plan, and approve or cancel it.", "operation{s}", "Planned"),
    Condition(Name.AGE, "old messages", of_queues.old, "queue",
        "the oldest message has waited {time} or more",
        "See whether its consumers keep up, and what they wait for.",
        "such queue{s}", threshold=(1, 2**31), is_by_rule=True),
    Condition(Name.DEPTH, "deep queue", of_queues.deep, "queue",
        "a queue has {count} or more messages",
        "See whether its consumers keep up, and add some if they do not.",
        "such queue{s}", threshold=(1, 2**62), is_by_rule=True),
    Condition(Name.PREPARED, "prepared", of_work.undecided, "health",
        "units of work wait for their coordinator",
        "Start their coordinator; if it is gone for good, decide in its place.",
        "unit{s} of work", "The first began", is_of_all_queues=True),
    Condition(Name.DEAD_LETTERS, "dead letters", of_dead_letters.dead, "dead_letters",
        "a queue has {count} or more dead letters",
        "Read their causes, then resubmit or discard them.",
        "such queue{s}", threshold=(1, 2**62)),
    Condition(Name.DISK, "disk", of_work.full_disk, "health",
        "{count} % of the disk or more are in use",
        "Free some space, or enlarge the disk: when it is full, nothing can be put, got"
        " or accepted. Shorter retention (BROKER_JOURNAL_RETENTION_DAYS,"
        " BROKER_MESSAGE_RETENTION_DAYS) makes the database smaller.", "disk{s}",
        threshold=(1, 100)),
    Condition(Name.SILENT, "silent process", of_work.silent, "health",
        "a process does not answer",
        "Continue it (SIGCONT), or kill it: what it holds is then backed out, and"
        " another process can go on.", "silent one{s}"),
    Condition(Name.PASSWORD, "password lost", of_links.lost_passwords, "health",
        "the password of a connection factory cannot be decrypted",
        "Add that key again, at the end, and start the processes again; or enter the"
        " password anew.", "password{s}", permission="broker.view_connectionfactory"),
    Condition(Name.SETTINGS, "settings", of_queues.misconfigured, "health",
        "settings may lose or block messages",
        "Change the setting as Health says.", "setting{s} to fix"),
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
