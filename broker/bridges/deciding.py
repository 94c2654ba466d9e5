"""Heuristic decision: an administrator ends a link's transaction in doubt.

Normally the link ends such transactions itself, once it runs and both providers answer.
This is for a provider that is gone for good, or a link that must not run.
"""

from __future__ import annotations

from django.db import transaction

from broker.bridges import notices
from broker.bridges.carrier import Carrier
from broker.bridges.configured import factory_of, is_here
from broker.bridges.providers.interface import ProviderSession
from broker.bridges.providers.registry import connect
from broker.bridges.ways import branches
from broker.errors.bridges import NoSuchBranch
from broker.models import Act, Branch, Link
from broker.security import audit
from broker.security.audit import Thing


def decide(branch_xid: str, *, commit: bool, reason: str) -> None:
    """Commit or roll back a branch.

    Args:
        branch_xid: the branch.
        commit: whether to commit; else it is rolled back.
        reason: the reason, for the audit.

    Raises:
        NoSuchBranch: it has ended already.
        BridgeError: it failed; nothing has changed.
    """
    ends = ("bridge", "status", "source_factory", "target_factory")
    links = [f"link__{one}" for one in ends]
    branch = Branch.objects.select_related(*links).filter(pk=branch_xid).first()
    if branch is None:
        raise NoSuchBranch(branch_xid)
    if branch.kind == Branch.Kind.PREPARED:
        end_here(branch, commit=commit, reason=reason)
        return
    session = session_of(branch.link)
    try:
        if commit:
            session.commit_prepared(branch.xid)
        else:
            session.roll_back_prepared(branch.xid)
    finally:
        session.close()
    with transaction.atomic():
        note(branch, commit=commit, reason=reason)
        if commit:
            # After a rollback, the notices are kept: they are all that is left of the
            # messages.
            notices.withdraw(branch)
        branch.delete()


@transaction.atomic
def end_here(branch: Branch, *, commit: bool, reason: str) -> None:
    """End a branch that is prepared at this broker, as the marker at the other provider
    would have ended it."""
    note(branch, commit=commit, reason=reason)
    if commit:
        epoch = branch.link.status.epoch
        branches.keep_promise(Carrier(branch.link, epoch), branch.xid)
    else:
        branches.break_promise(branch.xid, "", counted=False)


def session_of(link: Link) -> ProviderSession:
    """A session with the provider that is not this broker.

    Raises:
        BridgeError: the connection fails.
    """
    is_out = is_here(link.source_factory)
    factory = link.target_factory if is_out else link.source_factory
    return connect(factory_of(factory))


def note(branch: Branch, *, commit: bool, reason: str) -> None:
    detail = {
        "link": str(branch.link),
        "messages": branch.messages,
        "decision": "commit" if commit else "roll back",
    }
    thing = Thing("branch", branch.xid, branch.xid)
    audit.record(Act.DECIDE_BRANCH, thing, reason=reason, detail=detail)
