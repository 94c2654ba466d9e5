"""What a change of settings concerns: queues, messages, users, links; as sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, cast

from django.contrib.auth import get_user_model
from django.db.models import Model
from django.utils.translation import gettext, ngettext

from broker.bridges.config.edits import state_of
from broker.config.address_settings import DEFAULTS, merge
from broker.formats.quantities import write_count
from broker.formats.wildcards import configured, matches
from broker.models import AddressSetting, Authority, Bridge, Link, Queue
from broker.queueing import journal

NAMED = 5  # the most names in a sentence
# Fields that say something to people, and change nothing.
DESCRIPTIVE = {"description", "contact", "runbook"}


def before(obj: Model) -> list[AddressSetting]:
    """What must be known before a change: all address settings, if one changes."""
    if not isinstance(obj, AddressSetting):
        return []
    return list(AddressSetting.objects.all())


def after(
    old: Model | None, new: Model, known: list[AddressSetting], fields: Collection[str]
) -> list[str]:
    """The effects of a change that is made already, on what exists; empty: none.

    Args:
        old: the row before the change; None: it is new.
        new: the row as it is now.
        known: what ``before`` returned.
        fields: names of the fields that differ.
    """
    if isinstance(new, AddressSetting):
        return list(of_setting(old, new, known))
    if isinstance(new, Authority):
        return list(of_authority(old, new))
    if old is None or not set(fields) - DESCRIPTIVE:
        return []
    if isinstance(new, Queue):
        return list(of_queue(new))
    links = new.links.all() if isinstance(new, Bridge) else [cast("Link", new)]
    return list(of_links(links))


def of_setting(
    old: Any, new: AddressSetting, known: list[AddressSetting]
) -> Iterator[str]:
    now, syntax = list(AddressSetting.objects.all()), configured()
    patterns = {new.match, old.match if old else new.match}
    queues = Queue.objects.select_related("address").order_by("name")
    hit = [
        one
        for one in queues
        if any(matches(pattern, one.address.name, syntax) for pattern in patterns)
    ]
    addresses = {one.address.name for one in hit}
    changed = {one for one in addresses if values(one, known) != values(one, now)}
    found = [one for one in hit if one.address.name in changed]
    if not found:
        return
    yield gettext("It changes %(queues)s.") % {"queues": counted(found)}
    if others := len(hit) - len(found):
        yield ngettext(
            "On %(n)s more queue that it matches, nothing changes: more specific"
            " settings decide there.",
            "On %(n)s more queues that it matches, nothing changes: more specific"
            " settings decide there.",
            others,
        ) % {"n": write_count(others)}


def values(address: str, settings: Iterable[AddressSetting]) -> list[Any]:
    merged = merge(address, settings)
    return [getattr(merged, name) for name in DEFAULTS]


def of_queue(queue: Queue) -> Iterator[str]:
    depth = journal.depths([queue.pk]).get(queue.pk, journal.Depth())
    if not depth.total:
        yield gettext("It holds no messages now.")
        return
    yield ngettext(
        "It holds %(n)s message: %(ready)s ready, %(claimed)s in flight, %(delayed)s"
        " delayed.",
        "It holds %(n)s messages: %(ready)s ready, %(claimed)s in flight, %(delayed)s"
        " delayed.",
        depth.total,
    ) % {
        "n": write_count(depth.total),
        "ready": write_count(depth.ready),
        "claimed": write_count(depth.claimed),
        "delayed": write_count(depth.delayed),
    }


def of_authority(old: Any, new: Authority) -> Iterator[str]:
    """The users whose rights change, and the queues that they are on."""
    users: dict[int, str] = {}
    for one in (old, new):
        if one is not None and one.user is not None:
            users[one.user.pk] = str(one.user)
        if one is not None and one.group is not None:
            found = get_user_model().objects.filter(groups=one.group, is_active=True)
            users |= {user.pk: str(user) for user in found.order_by("username")}
    patterns = {new.pattern, old.pattern if old else new.pattern}
    names = Queue.objects.order_by("name").values_list("name", flat=True)
    hit = [name for name in names if any(matches(one, name) for one in patterns)]
    who = ngettext("%(n)s user", "%(n)s users", len(users)) % {
        "n": write_count(len(users))
    }
    named = listed(who, sorted(users.values()))
    yield gettext("It concerns %(users)s.") % {"users": named}
    if hit:
        named = listed(queues_in_words(len(hit)), hit)
        yield gettext("It is on %(queues)s.") % {"queues": named}
    else:
        yield gettext("No queue matches now; it is on those that will.")


def of_links(links: Iterable[Link]) -> Iterator[str]:
    """The links that run; what runs takes a change over at its next start."""
    states = [(one.name, state_of(one).label) for one in links]
    for name, state in states[:NAMED]:
        yield gettext("Link %(link)s is %(state)s.") % {"link": name, "state": state}
    if (more := len(states) - NAMED) > 0:
        yield ngettext("And %(n)s more link.", "And %(n)s more links.", more) % {
            "n": write_count(more)
        }
    if states:
        yield gettext("A link that runs takes it over at its next start.")


def counted(queues: list[Queue]) -> str:
    depths = journal.depths([one.pk for one in queues])
    held = sum(one.total for one in depths.values())
    messages = ngettext("%(n)s message", "%(n)s messages", held) % {
        "n": write_count(held)
    }
    what = gettext("%(queues)s, with %(messages)s") % {
        "queues": queues_in_words(len(queues)),
        "messages": messages,
    }
    return listed(what, [one.name for one in queues])


def queues_in_words(count: int) -> str:
    said = ngettext("%(n)s queue", "%(n)s queues", count)
    return said % {"n": write_count(count)}


def listed(what: str, names: list[str]) -> str:
    if not names:
        return what
    said = ", ".join(names[:NAMED])
    if (more := len(names) - NAMED) > 0:
        values = {"names": said, "n": write_count(more)}
        said = gettext("%(names)s and %(n)s more") % values
    return f"{what}: {said}"
