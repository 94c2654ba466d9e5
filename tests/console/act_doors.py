"""The doors of each act, found from what they are made of: routes, commands, pages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError
from django.db.models import Model
from django.test import Client
from django.urls import reverse

from broker.acts import ACTS, DeclaredAct
from console import api
from console.cli import GROUPS
from console.configuration.cli.objects import ACTS_ON_QUEUES
from console.edges.commands.acts import option_of
from tests.console.commanding import run

API = "/api/v1"
COMMANDS = {act.name: ("queue", word) for word, act in ACTS_ON_QUEUES.items()} | {
    run.name: (group, word)
    for group, (_, runs) in GROUPS.items()
    for word, run in runs.items()
    if isinstance(run, DeclaredAct)
}
DECLARED = {one.name: one for one in ACTS.values()}


@dataclass(frozen=True)
class Example:
    """An order, for all doors."""

    request: type
    page: str  # name of the URL
    about: tuple[str, ...]  # the fields in the URL of the page
    make: Callable[[], Mapping[str, Any]]  # makes what it is about; the fields
    absent: Mapping[str, Any]  # the fields where that is missing
    missing: str  # what is said then
    changes: tuple[type[Model], ...]  # what the act would change
    is_hidden: bool = True  # whether what it is about is hidden from some
    gone: int = 404  # the status of the page where that is missing
    posted: Mapping[str, Any] = field(default_factory=dict)  # what else its form has
    typed: tuple[str, ...] = ()  # what the page has in its URL, and asks for, too
    lacking: str = "set"  # the authority that is missing where one may only inquire
    give: Callable[[User], None] = lambda _: None  # makes what was made somebody's own


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


def parts_of(one: DeclaredAct, request: Any) -> list[Any]:
    """What stands in the path of the REST interface."""
    required = {field.name for field in one.fields if field.is_required}
    return [getattr(request, name) for name in one.key if name in required]


def given(request: Any, *apart: str) -> dict[str, Any]:
    """The fields that are not their defaults."""
    one = ACTS[type(request)]
    return {
        field.name: given_parts(value) if field.parts else value
        for field in one.fields
        if (value := getattr(request, field.name)) != field.default
        and field.name not in apart
    }


def given_parts(value: Any) -> dict[str, Any]:
    return {name: part for name, part in asdict(value).items() if part is not None}


def through_rest(user: User, request: Any) -> Any:
    one = ACTS[type(request)]
    method, path = routes()[one.name]
    filled = re.sub(r"{\w+}", "{}", path).format(*parts_of(one, request))
    client = Client()
    client.force_login(user)
    kept = one.key if "{" in path else ()
    rest = [field for field in one.fields if field.name not in kept]
    said = given(request, *kept)
    body = json.dumps(said, default=str)
    for one_of in rest:
        if one_of.holds.is_json and one_of.name in said:  # with all its digits
            document = json.dumps(said[one_of.name])
            body = body.replace(document, said[one_of.name])
            body = said[one_of.name] if len(rest) == 1 else body
    return client.generic(method.upper(), filled, body, "application/json")


def through_page(user: User, example: Example, request: Any) -> Any:
    client = Client()
    client.force_login(user)
    url = reverse(example.page, args=[getattr(request, one) for one in example.about])
    values = {one: getattr(request, one) for one in request.__slots__}
    typed = {
        name: value
        for name, value in values.items()
        if name not in set(example.about) - set(example.typed)
        and value not in (None, "")
    }
    return client.post(url, typed | dict(example.posted))


def through_command(user: User, request: Any) -> str:
    one, options = ACTS[type(request)], list[Any]()
    words: list[Any] = [*COMMANDS[one.name]]
    values = given(request)
    with TemporaryDirectory() as folder:
        for field in one.fields:
            if field.name not in values and not field.is_required:
                continue
            value = values.get(field.name, getattr(request, field.name))
            if field.holds.is_file:
                file = Path(folder, field.name)
                file.write_text(value)
                value = file
            if isinstance(value, dict):
                value = tuple(f"{key}={each}" for key, each in value.items())
            several = value if isinstance(value, tuple) else (value,)
            if field.is_required or field.holds.is_argument:
                words += several
            else:
                option = option_of(field)
                options += [part for each in several for part in (option, each)]
        if one.is_confirmed:
            options.append("--yes")
        return run(*words, *options, "--user", user.get_username(), "--json")


def refusals(user: User, example: Example, request: Any) -> Iterator[Refusal]:
    """What each door answers to an order that is refused."""
    answer = through_rest(user, request)
    yield Refusal("REST", answer.status_code, answer.json()["detail"])
    page = through_page(user, example, request)
    yield Refusal("page", page.status_code, page.content.decode())
    try:
        yield Refusal("command", 0, through_command(user, request))
    except CommandError as error:
        yield Refusal("command", error.returncode, str(error))
