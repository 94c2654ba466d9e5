"""The actor of a command: the process itself, with all rights, or a user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.core.exceptions import PermissionDenied
from django.core.management.base import CommandError
from django.db import InterfaceError, OperationalError
from django.http import Http404

from broker.acts.refusals import record_refusal
from broker.errors import BrokerError
from broker.errors.acts import NoPerson
from broker.errors.operations import NothingChosen
from broker.models import Queue
from broker.security import audit, authorities
from broker.security.audit import Actor
from broker.security.users import User, named
from console.edges import permissions
from console.edges.web.unavailable import AWAY

# exit codes; the last is EX_TEMPFAIL of sysexits.h
REFUSED, USAGE, NOTHING, TRY_AGAIN = 1, 2, 3, 75


acts: ContextVar[User | None] = ContextVar("acts", default=None)


@contextmanager
def refused_in_words() -> Iterator[None]:
    """Report errors of the broker and of the database as those of a command; refused
    acts are recorded."""
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise CommandError(AWAY, returncode=TRY_AGAIN) from error
    except NothingChosen as error:
        record_refusal(error, {})
        raise CommandError(str(error), returncode=NOTHING) from error
    except NoPerson as error:
        raise CommandError(str(error), returncode=USAGE) from error
    except Http404 as error:
        raise CommandError(f"There is no {error}.", returncode=REFUSED) from error
    except (BrokerError, PermissionDenied) as error:
        record_refusal(error, {})
        raise CommandError(str(error), returncode=REFUSED) from error


@contextmanager
def audited() -> Iterator[None]:
    """Record everything in the block under the actor, for the audit."""
    token = acts.set(None)
    try:
        with audit.acting(actor):
            yield
    finally:
        acts.reset(token)


def actor() -> Actor:
    user = acts.get()
    return Actor.of_process() if user is None else Actor.of(user)


def acting(name: str | None) -> User | None:
    """The active user of that name; None is the process itself."""
    if name is None:
        return None
    user = named(name).filter(is_active=True).first()
    if user is None:
        raise CommandError(f"There is no active user {name}.", returncode=REFUSED)
    acts.set(user)
    return user


def somebody(name: str | None) -> User:
    """The user to record as the person who gave an order."""
    user = acting(name)
    if user is None:
        raise CommandError(
            "Say who orders it, with --user: it is kept with the operation.",
            returncode=USAGE,
        )
    return user


def require(user: User | None, permission: str) -> None:
    """Check a permission, as the pages do."""
    if user is not None and not permissions.may(user, permission):
        raise CommandError(
            f"{user.get_username()} lacks the permission {permission}."
            " An administrator can give it under Settings.",
            returncode=REFUSED,
        )


def queue(
    user: User | None, name: str, authority: authorities.Authority = "inquire"
) -> Queue:
    """A queue, if the user has an authority on it.

    Raises:
        NotAuthorized: the authority is missing.
    """
    found = Queue.objects.filter(name=name).first()
    if found is None:
        raise CommandError(f"There is no queue {name!r}.", returncode=REFUSED)
    authorities.require(user, authority, name)
    return found
