"""The doors of each act, found from what they are made of: routes, commands, pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from broker.acts import ACTS, DeclaredAct
from console import api
from console.cli.groups import GROUPS
from console.cli.objects import ACTS_ON_QUEUES
from tests.console.commanding import run

API = "/api/v1"
COMMANDS = {act.name: ("queue", word) for word, act in ACTS_ON_QUEUES.items()} | {
    run.name: (group, word)
    for group, (_, runs) in GROUPS.items()
    for word, run in runs.items()
    if isinstance(run, DeclaredAct)
}
PAGES = {  # URL names, by act; their arguments are what the act is about
    "pause_queue": "console:pause",
    "resume_queue": "console:resume",
    "reset_counters": "console:reset_counters",
    "start_delivery": "console:start_delivery",
}
DECLARED = {one.name: one for one in ACTS.values()}


@dataclass(frozen=True)
class Refusal:
    """The answer of one door."""

    door: str
    status: int  # of HTTP; of a command: its exit code
    said: str


def routes() -> dict[str, tuple[str, str]]:
    """Method and path of each operation of the API, by its id."""
    return {
        operation["operationId"]: (method, path)
        for path, methods in api.document()["paths"].items()
        for method, operation in methods.items()
    }


def named(one: DeclaredAct, request: Any) -> list[Any]:
    """What the act is about."""
    return [getattr(request, field.name) for field in one.fields if field.holds.names]


def rest_of(one: DeclaredAct, request: Any) -> dict[str, Any]:
    values = asdict(request)
    return {
        field.name: values[field.name]
        for field in one.fields
        if not field.holds.names and values[field.name] != field.default
    }


def through_rest(user: User, one: DeclaredAct, request: Any) -> Any:
    method, path = routes()[one.name]
    filled = path.replace("{name}", "{}").format(*named(one, request))
    client = Client()
    client.force_login(user)
    said = rest_of(one, request)
    return client.generic(method.upper(), filled, json.dumps(said), "application/json")


def through_page(user: User, one: DeclaredAct, request: Any) -> Any:
    client = Client()
    client.force_login(user)
    url = reverse(PAGES[one.name], args=named(one, request))
    values = asdict(request)
    said = {
        field.name: values[field.name]
        for field in one.fields
        if not field.holds.names and values[field.name] not in (None, "")
    }
    return client.post(url, said)


def through_command(user: User, one: DeclaredAct, request: Any) -> str:
    options: list[Any] = []
    for name, value in rest_of(one, request).items():
        for each in value if isinstance(value, tuple) else (value,):
            options += [f"--{name.replace('_', '-')}", each]
    words = (*COMMANDS[one.name], *named(one, request), *options)
    return run(*words, "--user", user.get_username(), "--json")


def refusals(user: User, one: DeclaredAct, request: Any) -> Iterator[Refusal]:
    """What each door answers to an order that is refused."""
    answer = through_rest(user, one, request)
    yield Refusal("REST", answer.status_code, answer.json()["detail"])
    page = through_page(user, one, request)
    yield Refusal("page", page.status_code, page.content.decode())
    try:
        yield Refusal("command", 0, through_command(user, one, request))
    except CommandError as error:
        yield Refusal("command", error.returncode, str(error))
