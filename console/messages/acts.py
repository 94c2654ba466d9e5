"""Acts on saved views: save a filter under a name, change and delete one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from typing import Annotated, Any, cast

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, declared
from broker.acts.objects import KINDS
from broker.errors.acts import InvalidRequest
from broker.errors.settings import NoSuchObject
from broker.models import Act
from broker.monitoring import visible_search
from broker.security import audit, authorities
from broker.security.authorities import Principal
from broker.security.users import User
from broker.sql import is_duplicate
from console.messages.saved_views import texts_of
from console.models import SavedView

KIND = "saved view"
MOST = 100  # saved views of one user
LONGEST_SLUG = 80  # characters, without the number that makes it unique
NO_NAME = gettext_noop("Give the view a name.")
TAKEN = gettext_noop("You have a view of this name. Choose another.")
AT_ONCE = gettext_noop("Somebody saved a view at the same moment. Save it again.")
ordered = partial(declared, permission="broker.view_queue", needs_person=True)


def owner_of(actor: Principal) -> User:
    """The person whose views they are.

    Raises:
        PermissionDenied: the actor is an application, which has no views.
    """
    if authorities.credential_of(actor) is not None:
        raise PermissionDenied("Views are people’s: sign in to save one.")
    return cast(User, actor)


def find_own(actor: Principal, slug: str) -> SavedView:
    """A view that the actor may change.

    Raises:
        NoSuchObject: it does not exist, or is somebody else's.
        PermissionDenied: see ``owner_of``.
    """
    own = SavedView.objects.filter(owner=owner_of(actor)).select_related("owner")
    if found := own.filter(slug=slug).first():
        return found
    raise NoSuchObject(KIND, slug)


KINDS[KIND] = lambda actor, _held, slug: find_own(actor, slug)
Name = Annotated[str, Holds("The name of the view.", most=80)]
Shared = Annotated[bool, Holds("Others see its name and filter, too.")]
Slug = Annotated[str, Holds("The view, as in its URL.", names=KIND, most=100)]


@dataclass(frozen=True, slots=True)
class ViewState:
    """A named filter. Each reader sees the messages that they may see."""

    slug: str  # slug in URLs; never changes
    name: str
    filter: list[str]  # the terms of the filter, in normal form
    owner: str
    is_shared: bool  # shared: others see its name and filter
    created_at: datetime

    def __str__(self) -> str:
        return f"View {self.slug}, “{self.name}”: {' '.join(self.filter)}"


def read_view(view: SavedView) -> ViewState:
    """What is told of a view, whose owner is read."""
    return ViewState(
        slug=view.slug,
        name=view.name,
        filter=texts_of(view),
        owner=view.owner.get_username(),
        is_shared=view.is_shared,
        created_at=view.created_at,
    )


@dataclass(frozen=True, slots=True)
class SaveView:
    """A filter to save."""

    name: Name
    filter: Annotated[
        tuple[str, ...], Holds("The terms of the filter.", least=1, most=32)
    ]
    is_shared: Shared = False


@ordered(recorded_as=Act.CREATE)
def save_view(actor: Principal, request: SaveView) -> ViewState:
    """Save a filter under a name."""
    owner = owner_of(actor)
    wanted = visible_search.search(owner, request.filter).filter
    own = SavedView.objects.filter(owner=owner)
    if own.count() >= MOST:
        raise refused(f"You have {MOST} views. Delete one first.")
    with unique_names():
        made = SavedView.objects.create(
            slug=free_slug(request.name),
            name=normal(request.name),
            filter=str(wanted),
            owner=owner,
            is_shared=request.is_shared,
        )
    record(Act.CREATE, made, {}, audit.state_of(made))
    return read_view(made)


@dataclass(frozen=True, slots=True)
class ChangeView:
    """The view, its new name, and whether it is shared."""

    view: Slug
    name: Name
    is_shared: Shared = False


@ordered(recorded_as=Act.CHANGE)
def change_view(actor: Principal, request: ChangeView) -> ViewState:
    """Change a saved view of one's own.

    Renames it, shares it or ends sharing; its URL stays.
    """
    view = find_own(actor, request.view)
    before = audit.state_of(view)
    view.name, view.is_shared = normal(request.name), request.is_shared
    with unique_names():
        view.save(update_fields=["name", "is_shared"])
    record(Act.CHANGE, view, before, audit.state_of(view))
    return read_view(view)


@dataclass(frozen=True, slots=True)
class DeleteView:
    """The view."""

    view: Slug


@ordered(recorded_as=Act.DELETE)
def delete_view(actor: Principal, request: DeleteView) -> ViewState:
    """Delete a saved view of one's own.

    Returns what it was. No message changes.
    """
    view = find_own(actor, request.view)
    record(Act.DELETE, view, audit.state_of(view), {})
    SavedView.objects.filter(pk=view.pk).delete()
    return read_view(view)


def refused(why: str) -> InvalidRequest:
    return InvalidRequest((("name", why),))


def normal(name: str) -> str:
    """A name without blanks at its ends, and with one between its words.

    Raises:
        InvalidRequest: nothing is left.
    """
    if words := name.split():
        return " ".join(words)
    raise refused(NO_NAME)


@contextmanager
def unique_names() -> Iterator[None]:
    """Refuse a second view of one name; the database says so, also of two at once.

    Raises:
        InvalidRequest: the owner has such a view; or another view just got the slug.
    """
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        if not is_duplicate(error):
            raise
        raise refused(
            TAKEN if "savedview_owner_name" in str(error) else AT_ONCE
        ) from None


def free_slug(name: str) -> str:
    """A slug for a new view that no other view has."""
    taken = set(SavedView.objects.values_list("slug", flat=True))
    return next(slug for slug in slugs(name) if slug not in taken)


def slugs(name: str) -> Iterator[str]:
    stem = slugify(name)[:LONGEST_SLUG].strip("-") or "view"
    yield stem
    for number in count(2):
        yield f"{stem}-{number}"


def record(
    act: Act, view: SavedView, before: dict[str, Any], after: dict[str, Any]
) -> None:
    audit.record(act, view, detail={"changed": audit.changes(before, after)})
