"""The parts of a group of dead letters that somebody may see."""

from __future__ import annotations

from broker.errors.groups import NoSuchGroup
from broker.models import Queue
from broker.monitoring import dead_letters
from broker.monitoring.dead_letter_groups import pattern_of
from broker.monitoring.dead_letters import DeadLetterCount
from broker.security.authorities import GrantedAuthorities


def queues_for(held: GrantedAuthorities) -> dict[int, str]:
    """Queues that may be inquired: names by id."""
    rows = Queue.objects.values_list("pk", "name")
    return {pk: name for pk, name in rows if held.on("inquire", name)}


def parts_for(held: GrantedAuthorities, fingerprint: str) -> list[DeadLetterCount]:
    """The parts of a group now, on queues that may be inquired.

    Raises:
        NoSuchGroup: it never had a dead letter there.
    """
    names = queues_for(held)
    parts = [one for one in dead_letters.groups(fingerprint) if one.queue_id in names]
    if not parts and pattern_of(fingerprint, names) is None:
        raise NoSuchGroup(fingerprint)
    return parts
