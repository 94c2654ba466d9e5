"""Programs to copy: a first message to a queue and back, in several languages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from django.db.models import Q
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_noop

from broker.formats.wildcards import matches
from broker.models import Credential, Queue
from console.layout.listeners import Door, doors
from console.runtime.prefix import root

NO_CREDENTIAL = "NAME-OF-A-CREDENTIAL"


@dataclass(frozen=True, slots=True)
class Snippet:
    """One program; ``template`` has its text."""

    slug: str
    name: str
    needs: str  # what to install, or where it runs

    @property
    def template(self) -> str:
        return f"console/layout/connect/_{self.slug}.txt"


SNIPPETS = (
    Snippet("proton", "Python (AMQP)", "pip install python-qpid-proton"),
    Snippet("rhea", "JavaScript (AMQP)", "npm install rhea"),
    Snippet("jms", "Java (JMS)", "org.apache.qpid:qpid-jms-client:2"),
    Snippet("curl", "curl (HTTP)", gettext_noop("a shell")),
    Snippet(
        "django",
        "Python (Django)",
        gettext_noop(
            "a project with the application broker and this database; no credential"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Programs:
    """What the programs use."""

    queue: str
    address: str
    credential: str
    door: Door
    api: str  # URL of the API
    sends: bool = True
    receives: bool = True

    @property
    def snippets(self) -> tuple[Snippet, ...]:
        return tuple(replace(one, needs=gettext(one.needs)) for one in SNIPPETS)


def target_for(request: HttpRequest, queue: Queue) -> Programs:
    """The programs for a queue, with the name of a credential if the user may see
    one."""
    may_see = request.user.has_perm("broker.view_credential")
    names = credentials_for(queue) if may_see else iter(())
    return Programs(
        queue.name,
        queue.address.name,
        next(names, NO_CREDENTIAL),
        doors()[0],
        api_of(request),
    )


def target_of(request: HttpRequest, credential: Credential) -> Programs:
    """The programs for a new credential, with the first queue that it may use."""
    patterns = credential.patterns.split()
    names = Queue.objects.filter(kind=Queue.Kind.LOCAL).order_by("-pk")
    found = names.select_related("address")
    queue = next((one for one in found if is_for(patterns, one)), None)
    return Programs(
        queue.name if queue else "orders",
        queue.address.name if queue else "orders",
        credential.name,
        doors()[0],
        api_of(request),
        sends=credential.may_put,
        receives=credential.may_get,
    )


def api_of(request: HttpRequest) -> str:
    return request.build_absolute_uri(f"{root()}api/v1")


def credentials_for(queue: Queue) -> Iterator[str]:
    """Names of valid credentials that may put to and get from a queue, the newest
    first."""
    valid = Credential.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=Now()),
        revoked_at=None,
        user__is_active=True,
        may_get=True,
        may_put=True,
    )
    for one in valid.order_by("-pk"):
        if is_for(one.patterns.split(), queue):
            yield one.name


def is_for(patterns: Iterable[str], queue: Queue) -> bool:
    """Whether patterns match a queue and its address."""
    every = list(patterns)
    return all(
        any(matches(pattern, name) for pattern in every)
        for name in (queue.name, queue.address.name)
    )
