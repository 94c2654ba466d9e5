"""A new link with the parts that it needs: found, or made in the same transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_noop

from broker.bridges import secrets
from broker.bridges.config import trying
from broker.bridges.config.faults import Part
from broker.bridges.config.kinds import BRIDGE, DESTINATION, FACTORY, LINK
from broker.bridges.config.validation import faults_of
from broker.bridges.configured import ends_here
from broker.bridges.providers.registry import HERE
from broker.config.names import address_of, local_queue
from broker.declarations import Declaration, apply, one_at_a_time, plan
from broker.declarations.kinds import QUEUE
from broker.declarations.object_kind import ObjectKind
from broker.errors import NoSuchAddress, NoSuchQueue
from broker.errors.bridges import BridgeError, ProviderError, WrongBridge
from broker.errors.settings import SettingsChanged, WrongSettings
from broker.models import Bridge, BridgeDestination, ConnectionFactory, Link
from broker.models.bridge_names import RESERVED
from broker.security import authorities
from console.accounts.declaring import require_rights
from console.bridges.new_link_form import (
    SAFETY,
    EndForm,
    LinkForm,
    bridge_names,
    connections_for,
    is_taken,
)
from console.edges import permissions

# A new link may need a part of each kind.
ADD = (
    *("broker.add_link", "broker.add_bridge"),
    *("broker.add_connectionfactory", "broker.add_bridgedestination"),
)
ADD_QUEUE = ("broker.add_queue", "broker.add_address")
TEST_STORED = "broker.change_connectionfactory"
KINDS: dict[type, ObjectKind] = {
    Bridge: BRIDGE,
    ConnectionFactory: FACTORY,
    BridgeDestination: DESTINATION,
    Link: LINK,
}
# The fields of the form at which the faults of parts are shown.
OF_FACTORIES = {"provider": "at", "username": "username", "properties": "ca_file"}
OF_LINKS = {"source_factory": "at", "source": "name"}
OF_LINKS |= {"target_factory": "at", "target": "name"}
TAKEN = gettext_noop("This bridge has a link of this name. Choose another name.")
TRY_AGAIN = gettext_noop("Others have just changed the bridge. Create the link again.")
TAKEN_BY_BRIDGES = {one.lower() for one in RESERVED}
Row = TypeVar("Row", ConnectionFactory, BridgeDestination)


class NewLink:
    """The forms of a new link, and what they make."""

    def __init__(self, user: User, said: Any = None) -> None:
        self.user = user
        self.bridges = bridge_names()
        known = connections_for(user)
        self.source = EndForm(said, prefix="source", connections=known)
        self.target = EndForm(said, prefix="target", connections=known)
        self.link = LinkForm(said, bridges=self.bridges)
        self.made: list[Part] = []  # the parts that are not stored yet, and the link
        self.queue = ""  # the queue of this broker to create with it

    @property
    def ends(self) -> tuple[EndForm, EndForm]:
        return self.source, self.target

    def is_valid(self) -> bool:
        """Whether no field has an error; all of them are looked at."""
        valid = [one.is_valid() for one in (*self.ends, self.link)]
        return all(valid)

    def create(self) -> Link | None:
        """Create the link and its missing parts; None adds errors to the forms.

        Raises:
            PermissionDenied: the user may not create a part.
        """
        if not self.is_valid():
            return None
        link = self.row()
        if link is None or not self.accept(link):
            return None
        declared = list(map(declaration_of, self.made))
        if self.queue:
            declared.append(Declaration(QUEUE, (self.queue,)))
        try:
            self.store(link, declared)
        except (WrongBridge, WrongSettings) as error:
            for why in getattr(error, "problems", [str(error)]):
                self.link.add_error(None, why)
        except SettingsChanged:
            again = TAKEN if is_taken(link.bridge.name, link.name) else TRY_AGAIN
            self.link.add_error("name", gettext(again))
        return link if self.link.is_valid() else None

    def store(self, link: Link, declared: list[Declaration]) -> None:
        with one_at_a_time():
            wanted = plan(declared)
            require_rights(self.user, wanted.changes)
            if any(one.verb != "create" for one in wanted.changes):
                raise SettingsChanged("definitions")  # stored since it was looked up
            apply(wanted, actor=authorities.name_of(self.user))

    def row(self) -> Link | None:
        """The link, with parts that are stored or new; None: it has no bridge."""
        said = self.link.cleaned_data
        name = said["bridge"] or next(
            (one.stored.bridge.name for one in self.ends if one.stored), ""
        )
        if not name:
            why = gettext("Choose a bridge, or name a new one.")
            self.link.add_error("bridge", why)
            return None
        bridge = Bridge.objects.filter(name=name).first() or Bridge(name=name)
        self.made = [] if bridge.pk else [bridge]
        safety = next(one for one in SAFETY if one.key == said["safety"])
        link = Link(
            bridge=bridge,
            name=said["name"],
            source_factory=self.factory(bridge, self.source),
            source=self.destination(bridge, self.source),
            target_factory=self.factory(bridge, self.target),
            target=self.destination(bridge, self.target),
            **{name: said[name] for name in ("enabled", *LinkForm.MORE)},
            **safety.fields,
        )
        self.made.append(link)
        return link

    def factory(self, bridge: Bridge, end: EndForm) -> ConnectionFactory:
        if end.stored:
            return end.stored
        if end.is_new:
            made = new_factory(bridge, end)
            made.name = self.free(made, "name", made.name)
        else:
            here = ConnectionFactory(bridge=bridge, provider=HERE)
            if found := self.alike(here, "provider"):
                return found
            here.name = self.free(here, "name", "here")
            made = here
        self.made.append(made)
        return made

    def destination(self, bridge: Bridge, end: EndForm) -> BridgeDestination | None:
        said = end.cleaned_data
        if not said["name"]:
            return None
        made = BridgeDestination(bridge=bridge, kind=said["kind"], name=said["name"])
        if found := self.alike(made, "kind", "name"):
            return found
        wished = said["name"].replace("/", "-").strip()[:90]
        made.ref_name = self.free(made, "ref_name", wished)
        self.made.append(made)
        return made

    def alike(self, row: Row, *fields: str) -> Row | None:
        """A part of the bridge with the same values in these fields, stored or new."""
        wanted = {name: getattr(row, name) for name in fields}
        for one in self.made:
            if type(one) is type(row) and all(
                getattr(one, name) == value for name, value in wanted.items()
            ):
                return one
        stored = type(row)._default_manager.filter(bridge=row.bridge_id, **wanted)
        return stored.order_by("pk").first() if row.bridge_id else None

    def free(self, row: Row, field: str, wished: str) -> str:
        """This name, with a number if another part of the bridge has it."""
        name, number = wished, 1
        while name.lower() in TAKEN_BY_BRIDGES or self.has_name(row, field, name):
            number += 1
            name = f"{wished}-{number}"
        return name

    def has_name(self, row: Row, field: str, name: str) -> bool:
        setattr(row, field, name)
        return self.alike(row, field) is not None

    def accept(self, link: Link) -> bool:
        """Whether all of it is valid; otherwise the fields have errors."""
        for part in self.made:
            for fault in faults_of(part):
                self.say(link, part, fault.field, fault.sentence)
        if is_taken(link.bridge.name, link.name):
            self.link.add_error("name", gettext(TAKEN))
        self.look_here(link)
        return self.is_valid()

    def say(self, link: Link, part: Part, field: str, sentence: str) -> None:
        """Show a fault at the field that caused it."""
        if isinstance(part, Link):
            end = self.target if field.startswith("target") else self.source
            place = OF_LINKS.get(field, "")
            if field in ("transacted", "duplicate_detection"):
                field = "safety"
        elif isinstance(part, Bridge):
            end, place, field = self.source, "", "bridge"
        elif isinstance(part, ConnectionFactory):
            end = self.source if link.source_factory is part else self.target
            place = OF_FACTORIES.get(field, "host")
        else:
            end = self.source if link.source is part else self.target
            place = "name"
        if place:
            end.add_error(place, sentence)
        else:
            self.link.add_error(field if field in self.link.fields else None, sentence)

    def look_here(self, link: Link) -> None:
        """Look up the ends at this broker. A missing queue of the target is created."""
        held = authorities.held_by(self.user)
        if unseen := sorted(one for one in ends_here(link) if not may_see(held, one)):
            why = gettext("To use %(queue)s, you need the authority “inquire” on it.")
            end = self.source if unseen[0] == link.source.name else self.target
            end.add_error("name", why % {"queue": unseen[0]})
            return
        is_queue = link.source.kind == BridgeDestination.Kind.QUEUE
        if link.source_factory.provider == HERE:
            try:
                (local_queue if is_queue else address_of)(link.source.name)
            except (NoSuchQueue, NoSuchAddress) as error:
                self.source.add_error("name", str(error))
        if link.target_factory.provider == HERE:
            target = link.target or link.source
            try:
                address_of(target.name)
            except NoSuchAddress as error:
                if self.user.has_perms(ADD_QUEUE):
                    self.queue = target.name
                else:
                    self.target.add_error("name", str(error))

    @property
    def created(self) -> Iterator[str]:
        """What was created beside the link, in words."""
        for part in self.made:
            if not isinstance(part, Link):
                yield f"{part._meta.verbose_name} {KINDS[type(part)].key_of(part)[-1]}"
        if self.queue:
            yield gettext("queue %(queue)s") % {"queue": self.queue}


def may_see(held: authorities.GrantedAuthorities, name: str) -> bool:
    return held.on("inquire", name)


def new_factory(bridge: Bridge, end: EndForm) -> ConnectionFactory:
    """The connection factory that is typed, named after its host."""
    said = end.cleaned_data
    return ConnectionFactory(
        bridge=bridge,
        name=said["host"][:90],
        provider=end.provider,
        url=end.url,
        username=said["username"],
        secret=secrets.encrypt(said["password"]),
        properties=end.properties,
    )


def declaration_of(part: Part) -> Declaration:
    kind = KINDS[type(part)]
    values = kind.values_of(part)
    if isinstance(part, ConnectionFactory):
        values["password"] = kind.secret_of(part, "password")
    return Declaration(kind, kind.key_of(part), values)


def try_connection(user: User, end: EndForm) -> tuple[bool, str]:
    """Connect and log in to the broker of an end, as it is typed.

    Returns:
        Whether it worked, and a sentence.
    """
    end.is_valid()
    wrong = [
        f"{end.fields[name].label or capfirst(name)}: {why}"
        for name, faults in end.errors.items()
        if name not in ("kind", "name")
        for why in faults
    ]
    if wrong:
        return False, " ".join(wrong)
    factory = end.stored
    if factory is not None and not permissions.may(user, TEST_STORED):
        return False, gettext("Users with the role administrator may test it.")
    if factory is None:
        if not end.is_new:
            return True, gettext(
                "This broker is this process itself. No connection is needed."
            )
        factory = new_factory(Bridge(name="new"), end)
    try:
        trying.try_out(factory)
    except BridgeError as error:
        return False, error.why if isinstance(error, ProviderError) else str(error)
    said = gettext("Connected to %(url)s.")
    if factory.username:
        said = gettext("Connected to %(url)s, and logged in as %(user)s.")
    return True, said % {"url": factory.url, "user": factory.username}
