"""The form of a new link: from where, to where, how safe, and its name."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast
from urllib.parse import quote

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from broker.bridges.providers.interface import Capability
from broker.bridges.providers.registry import HERE, PROVIDERS
from broker.models import Bridge, BridgeDestination, ConnectionFactory, Link
from broker.models.bridge_names import check_name
from broker.security.authorities import Principal
from console.bridges import words
from console.edges import permissions

VIEW_CONNECTIONS = "broker.view_connectionfactory"
STORED, NEW = "connection:", "new:"  # prefixes of choices of a broker
# Of its URLs, only these have a host.
NAMES = {"kombu": gettext_noop("Redis (by kombu)")}
# Kinds of providers with these fields; the form hides them of others.
WITH_PATH = ("backout", "rabbitmq", "kombu")
WITH_FILE = ("backout", "amqp", "stomp", "rabbitmq")
NOT_HOST = re.compile(r"[\s/@?#\[\]]")
HOST_ALONE = gettext_noop(
    "Write the host alone, such as mq.example.org. Port, TLS and path have their own"
    " fields."
)
Choices = list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Safety:
    """A choice of how safe a link is."""

    key: str
    label: str
    help: str

    @property
    def words(self) -> str:
        """The help, as pages show it."""
        return gettext(self.help) % {"brokers": without_transactions()}

    @property
    def fields(self) -> dict[str, bool]:
        """The attributes of a link that the choice sets."""
        return {
            "transacted": self.key == "transacted",
            "duplicate_detection": self.key == "duplicates",
        }


def without_transactions() -> str:
    """The kinds of brokers that cannot have a transacted link."""
    return f" {gettext('and')} ".join(
        name_of(key)
        for key, one in PROVIDERS.items()
        if Capability.TRANSACTIONS not in one.capabilities
    )


def name_of(provider: str) -> str:
    return capfirst(gettext(NAMES.get(provider) or PROVIDERS[provider].label))


SAFETY = (
    Safety(
        "transacted",
        words.ONCE,
        gettext_noop(
            "Source and target are one transaction. Not possible with %(brokers)s:"
            " these have no transactions."
        ),
    ),
    Safety(
        "duplicates",
        gettext_noop("At least once, and duplicates are recognised"),
        gettext_noop(
            "Only if the target is this broker. Each message is stored here once, as"
            " long as its id is remembered."
        ),
    ),
    Safety(
        "plain",
        gettext_noop("At least once"),
        gettext_noop("After a fault, a message may come twice."),
    ),
)


class EndForm(forms.Form):
    """One end of a link: the broker, how to connect to it, and the queue or topic."""

    at = forms.ChoiceField(label=gettext_lazy("Broker"))
    host = forms.CharField(
        label=gettext_lazy("Host"),
        max_length=253,
        required=False,
        help_text=gettext_lazy("Such as mq.example.org."),
    )
    port = forms.IntegerField(
        label=gettext_lazy("Port"),
        min_value=1,
        max_value=65535,
        required=False,
        help_text=gettext_lazy("Empty: the usual port of this kind of broker."),
    )
    path = forms.CharField(
        label=gettext_lazy("Virtual host or path"),
        max_length=200,
        required=False,
        help_text=gettext_lazy(
            "RabbitMQ: the virtual host. Redis: the number of the database. Another"
            " Backout: the path of its console, if it has one."
        ),
    )
    username = forms.CharField(
        label=gettext_lazy("User"), max_length=255, required=False
    )
    password = forms.CharField(
        label=gettext_lazy("Password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy("It is stored encrypted, and never shown."),
    )
    tls = forms.BooleanField(label=gettext_lazy("Connect with TLS"), required=False)
    ca_file = forms.CharField(
        label=gettext_lazy("File of the certificate authority"),
        max_length=500,
        required=False,
        help_text=gettext_lazy(
            "It verifies the certificate of the broker. Where the bridge process runs,"
            " such as /etc/ssl/mq-ca.pem; empty: the authorities of the system."
        ),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=[
            (BridgeDestination.Kind.QUEUE, gettext_lazy("Queue")),
            (BridgeDestination.Kind.TOPIC, gettext_lazy("Topic")),
        ],
    )
    name = forms.CharField(
        max_length=255,
        label=gettext_lazy("Queue or topic"),
        widget=forms.TextInput(attrs={"list": "queues", "autocomplete": "off"}),
    )

    def __init__(
        self, said: Any = None, *, prefix: str, connections: list[ConnectionFactory]
    ) -> None:
        super().__init__(said, prefix=prefix)
        self.connections = {one.pk: one for one in connections}
        self.works, self.result = False, ""  # of the test of its connection
        at = cast("forms.ChoiceField", self.fields["at"])
        at.choices = choices_of(connections)
        name = self.fields["name"]
        is_target = prefix == "target"
        if is_target:
            name.required = False
            name.help_text = gettext("Empty: the name of the source.")
            first = next(iter(self.connections), None)
            self.initial["at"] = f"{STORED}{first}" if first else f"{NEW}amqp"
        else:
            self.initial["at"] = HERE

    @property
    def provider(self) -> str:
        """The kind of provider that is chosen."""
        stored = self.stored
        return stored.provider if stored else self.chosen.removeprefix(NEW)

    @property
    def chosen(self) -> str:
        at: str = self.cleaned_data.get("at", "")
        return at

    @property
    def stored(self) -> ConnectionFactory | None:
        """The connection factory that is chosen; None: this broker, or a new one."""
        _, is_stored, pk = self.chosen.partition(STORED)
        return self.connections[int(pk)] if is_stored else None

    @property
    def is_new(self) -> bool:
        return self.chosen.startswith(NEW)

    def clean_host(self) -> str:
        host: str = self.cleaned_data["host"]
        if NOT_HOST.search(host) or not is_host(host):
            raise forms.ValidationError(gettext(HOST_ALONE))
        return host

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.is_new and "host" in cleaned and not cleaned["host"]:
            why = gettext("Write the name or the address of its host.")
            self.add_error("host", why)
        return cleaned

    @property
    def url(self) -> str:
        """The URL of a new connection."""
        said = self.cleaned_data
        plain, secure, *_ = PROVIDERS[self.provider].schemes
        host = f"[{said['host']}]" if ":" in said["host"] else said["host"]
        port = f":{said['port']}" if said.get("port") else ""
        has_path = self.provider in WITH_PATH
        path = quote(said.get("path", "").strip("/")) if has_path else ""
        return f"{secure if said['tls'] else plain}://{host}{port}/{path}".rstrip("/")

    @property
    def properties(self) -> dict[str, str]:
        said = self.cleaned_data
        has_file = said.get("tls") and self.provider in WITH_FILE
        file = said.get("ca_file", "") if has_file else ""
        return {"ca-file": file} if file else {}


class LinkForm(forms.Form):
    """How safe the link is, its name, and what else it may have."""

    safety = forms.ChoiceField(
        choices=[(one.key, one.label) for one in SAFETY], initial="transacted"
    )
    name = forms.CharField(
        label=gettext_lazy("Name of the link"),
        max_length=100,
        validators=[check_name],
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy("Such as orders-out."),
    )
    bridge = forms.CharField(
        label=gettext_lazy("Bridge"),
        max_length=100,
        required=False,
        validators=[check_name],
        widget=forms.TextInput(attrs={"list": "bridges", "autocomplete": "off"}),
        help_text=gettext_lazy(
            "A bridge is a set of links that share connections. A new name makes a new"
            " bridge. Empty: the bridge of the connection."
        ),
    )
    enabled = forms.BooleanField(
        label=gettext_lazy("Start it, now and whenever the bridge process starts"),
        required=False,
        initial=True,
    )
    selector = forms.CharField(
        label=gettext_lazy("Selector"),
        required=False,
        help_text=gettext_lazy(
            "Transfer only messages that match, such as colour = 'red'."
        ),
    )
    durable_name = forms.CharField(
        label=gettext_lazy("Durable subscription"),
        max_length=255,
        required=False,
        help_text=gettext_lazy(
            "Of a topic: a name under which it keeps messages while the link is"
            " stopped."
        ),
    )
    source_client_id = forms.CharField(
        label=gettext_lazy("Client id"),
        max_length=255,
        required=False,
        help_text=gettext_lazy("A durable subscription needs one."),
    )
    description = forms.CharField(
        label=gettext_lazy("Description"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    MORE = ("selector", "durable_name", "source_client_id", "description")

    def __init__(self, said: Any = None, *, bridges: list[str]) -> None:
        super().__init__(said, prefix="link")
        if len(bridges) <= 1:
            self.initial["bridge"] = bridges[0] if bridges else "main"

    @property
    def choices(self) -> Iterator[tuple[Safety, bool]]:
        """How safe it can be, each with whether it is chosen."""
        value = self["safety"].value()
        yield from ((one, one.key == value) for one in SAFETY)

    @property
    def more(self) -> list[forms.BoundField]:
        return [self[name] for name in self.MORE]

    @property
    def has_more(self) -> bool:
        """Whether a field behind More was filled in, or has an error."""
        touched = {*self.changed_data, *self.errors} if self.is_bound else set()
        return not touched.isdisjoint(self.MORE)


def is_host(host: str) -> bool:
    """Whether it can be looked up: a name of the DNS, or an address."""
    try:
        if ":" in host:
            ipaddress.ip_address(host)
        host.encode("idna")
    except ValueError:
        return False
    return True


def choices_of(connections: list[ConnectionFactory]) -> Choices:
    """The brokers to choose from: this one, the known connections, new ones."""
    found: Choices = [(HERE, name_of(HERE))]
    for bridge, of in groupby(connections, lambda one: one.bridge.name):
        known = [
            (f"{STORED}{one.pk}", f"{one.name} ({words.provider_of(one)}, {one.url})")
            for one in of
        ]
        title = gettext("Connections of the bridge %(bridge)s") % {"bridge": bridge}
        found.append((title, known))
    kinds = [(f"{NEW}{key}", name_of(key)) for key in PROVIDERS if key != HERE]
    return [*found, (gettext("A new connection"), kinds)]


def connections_for(actor: Principal) -> list[ConnectionFactory]:
    """The connections to other brokers that the user may see, by bridge and name."""
    if not permissions.may(actor, VIEW_CONNECTIONS):
        return []
    others = ConnectionFactory.objects.exclude(provider=HERE)
    return list(others.select_related("bridge").order_by("bridge__name", "name"))


def bridge_names() -> list[str]:
    return list(Bridge.objects.order_by("name").values_list("name", flat=True))


def is_taken(bridge: str, name: str) -> bool:
    return Link.objects.filter(bridge__name=bridge, name=name).exists()
