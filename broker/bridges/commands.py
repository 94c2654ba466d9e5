"""Commands of operators to links. The bridge process carries them out."""

from __future__ import annotations

from django.db import transaction

from broker.bridges.states import Command, on_the_way, state_after
from broker.errors.bridges import NoSuchBridge, NoSuchLink
from broker.models import Act, Bridge, Link, LinkState, LinkStatus
from broker.security import audit

ACTS = {
    Command.START: Act.START_LINK,
    Command.PAUSE: Act.PAUSE_LINK,
    Command.RESUME: Act.RESUME_LINK,
    Command.STOP: Act.STOP_LINK,
}


def link_of(bridge: str, link: str) -> Link:
    """The link of these names.

    Raises:
        NoSuchBridge, NoSuchLink: there is none of this name.
    """
    links = Link.objects.select_related("bridge", "status")
    found = links.filter(bridge__name=bridge, name=link).first()
    if found is not None:
        return found
    if not Bridge.objects.filter(name=bridge).exists():
        raise NoSuchBridge(bridge)
    raise NoSuchLink(bridge, link)


@transaction.atomic
def command(link: Link, what: Command, *, reason: str = "") -> bool:
    """Command a link to start, pause, resume or stop.

    It takes effect after the current message; ``LinkStatus.state`` then tells so.

    Args:
        reason: the reason, for the audit.

    Returns:
        Whether the command changes anything.

    Raises:
        CommandRefused: the command is not possible in the link's state.
    """
    LinkStatus.objects.get_or_create(link=link)
    status = LinkStatus.objects.select_for_update().get(link=link)
    now_is = LinkState(status.state)
    to = state_after(what, now_is, enabled=link.enabled, link=str(link))
    if to is None or to == status.wanted == status.state:
        return False
    status.wanted = to
    status.state = on_the_way(now_is, to)
    if to == LinkState.STARTED:
        status.failures = 0  # the first try to connect must not wait
    status.save(update_fields=["wanted", "state", "failures"])
    audit.record(ACTS[what], link, reason=reason)
    return True
