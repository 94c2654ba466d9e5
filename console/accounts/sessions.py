"""Browser sessions: idle timeout, longest duration, owner, and ending them.

A session ends after an idle time, and after a fixed time in any case. Both limits are
checked whenever a session is loaded, by pages, sockets and the API alike. Automatic
refreshes of a page do not count as activity.

The session key is renewed at sign-in and whenever the user's rights have changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends import db
from django.db import transaction
from django.db.models import Q
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from broker.formats import moments
from broker.models import Act, Authority
from broker.security import audit
from broker.security.audit import Thing
from broker.security.users import User
from console.models import BrowserSession

BEGAN, HOST, BROWSER = "_began_at", "_host", "_browser"  # keys of the session's data
NOTED_EVERY = timedelta(minutes=1)
LONGEST = 300  # characters of the User-Agent header
SAFE = ("GET", "HEAD", "OPTIONS")


class SessionStore(db.SessionStore):
    """Sessions in the database with their owner; an expired session loads as empty."""

    row: BrowserSession | None = None  # the session's row as it was read

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        row = super().create_model_instance(data)
        assert isinstance(row, BrowserSession)
        row.user_id = data.get(SESSION_KEY)
        row.seen_at = timezone.now()
        began = data.get(BEGAN)
        row.began_at = moments.parse(began) if began else row.seen_at
        row.host, row.browser = data.get(HOST, ""), data.get(BROWSER, "")
        row.is_stale = False
        return row

    def _get_session_from_db(self) -> BrowserSession | None:
        row: BrowserSession | None = super()._get_session_from_db()  # type: ignore[misc]
        if row is not None and is_over(row, timezone.now()):
            row.delete()
            self._session_key = None
            row = None
        self.row = row
        return row


def is_over(row: BrowserSession, now: datetime) -> bool:
    """Whether a session has expired."""
    idle = timedelta(seconds=settings.BACKOUT_SESSION_IDLE_S)
    longest = timedelta(seconds=settings.BACKOUT_SESSION_LONGEST_S)
    return now >= row.seen_at + idle or now >= row.began_at + longest


class SessionsMiddleware:
    """Records activity, and renews the session key after a change of rights."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        session: Any = request.session
        is_used = session.session_key and is_an_act(request)
        if is_used and request.user.is_authenticated:
            now, row = timezone.now(), getattr(session, "row", None)
            if row is not None and row.is_stale:
                session.cycle_key()
            elif row is not None and now >= row.seen_at + NOTED_EVERY:
                own = BrowserSession.objects.filter(pk=session.session_key)
                own.update(seen_at=now)
        return self.get_response(request)


def is_an_act(request: HttpRequest) -> bool:
    """Whether a request is a user's action, not an automatic refresh of a page."""
    asks = request.headers.get("Sec-Fetch-Mode", "navigate")
    return request.method not in SAFE or asks == "navigate"


def are_ours() -> bool:
    """Whether the project keeps its sessions here."""
    return bool(__name__ == settings.SESSION_ENGINE)


def listen() -> None:
    user_logged_in.connect(begin)
    post_save.connect(user_saved, sender=User)
    for through in (User.groups.through, User.user_permissions.through):
        m2m_changed.connect(rights_of_users, sender=through)
    m2m_changed.connect(rights_of_groups, sender=Group.permissions.through)
    post_save.connect(authority_changed, sender=Authority)
    post_delete.connect(authority_changed, sender=Authority)


def begin(request: HttpRequest, **_: Any) -> None:
    """Record a new session at sign-in, and delete sessions that expired long ago."""
    BrowserSession.objects.filter(expire_date__lte=timezone.now()).delete()
    request.session[BEGAN] = timezone.now().isoformat()
    request.session[HOST] = request.META.get("REMOTE_ADDR", "")
    request.session[BROWSER] = request.META.get("HTTP_USER_AGENT", "")[:LONGEST]


def user_saved(
    *, instance: User, created: bool, update_fields: Any = None, **_: Any
) -> None:
    """End the sessions of a deactivated user; renew keys of others, whose rights may
    differ.
    """
    own = BrowserSession.objects.filter(user=instance.pk)
    if not instance.is_active:
        own.delete()
    elif not created and set(update_fields or ()) != {"last_login"}:
        own.update(is_stale=True)


def rights_of_users(
    *, instance: User | Group, action: str, reverse: bool, pk_set: Any, **_: Any
) -> None:
    """Renew the session keys of users whose groups or permissions have changed."""
    if action.startswith("post_"):
        renew(Q(user__in=pk_set or ()) if reverse else Q(user=instance.pk))


def rights_of_groups(*, instance: Any, action: str, reverse: bool, **_: Any) -> None:
    """Renew the session keys of a group's users: its permissions have changed."""
    if action.startswith("post_") and not reverse:
        renew(Q(user__groups=instance.pk))


def authority_changed(*, instance: Authority, **_: Any) -> None:
    """Renew session keys after a change of an authority. Migrations also grant
    authorities, before any session exists.
    """
    if audit.is_acting():
        groups = Q(user__groups=instance.group_id) if instance.group_id else Q()
        renew(groups or Q(user=instance.user_id))


def renew(whose: Q) -> None:
    """Mark sessions so that they get a new key at their next activity."""
    keys = list(BrowserSession.objects.filter(whose).values_list("pk", flat=True))
    BrowserSession.objects.filter(pk__in=keys).update(is_stale=True)


def sessions_of(user: User) -> list[BrowserSession]:
    """A user's open sessions, the most recently used first."""
    now = timezone.now()
    found = BrowserSession.objects.filter(user=user, expire_date__gt=now)
    return [one for one in found.order_by("-seen_at", "pk") if not is_over(one, now)]


def name_of(row: BrowserSession) -> str:
    """An identifier of a session for pages; the session key stays secret."""
    return hashlib.sha256(row.session_key.encode()).hexdigest()[:16]


@transaction.atomic
def end(user: User, rows: Iterable[BrowserSession]) -> int:
    """End some of a user's own sessions, record each in the audit, and return the
    number.
    """
    ended = 0
    for row in rows:
        found, _ = BrowserSession.objects.filter(pk=row.pk, user=user).delete()
        if found:
            ended += 1
            account = Thing("account", user.pk, user.get_username())
            detail = {"host": row.host, "began_at": row.began_at.isoformat()}
            audit.record(Act.END_SESSION, account, by=user, detail=detail)
    return ended
