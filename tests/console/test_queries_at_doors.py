"""Each query at REST and at the command line: the same facts, by the same names."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from console.accounts import roles
from console.cli import ALONE, GROUPS
from console.edges.queries import QUERIES, DeclaredQuery
from tests.console.act_doors import routes
from tests.console.world import Values, make_world
from tests.make import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

EVERY = [((word,), one) for word, one in ALONE.items()] + [
    ((group, word), one)
    for group, (_, runs) in GROUPS.items()
    for word, one in runs.items()
]
COMMANDS = {one.name: words for words, one in EVERY if isinstance(one, DeclaredQuery)}
OPEN_MQ = {"list_bridges"}  # ``bridge list`` is as in imqbridgemgr
TAKES_A_BODY = {"preview_rules"}  # REST has it as POST; a command reads a file
# Times, ages and rates that pass between one answer and the next.
PASSING = re.compile(r'"20\d\d-\d\d-\d\dT[^"]*"|(?<="oldest_s": )\d+|(?<="age_s": )\d+')


def test_each_query_is_at_both_doors() -> None:
    assert QUERIES.keys() - COMMANDS.keys() == OPEN_MQ
    assert QUERIES.keys() <= routes().keys()


def test_the_command_prints_what_rest_answers(client: Client) -> None:
    ada = make_user("ada", permissions=tuple(roles.ROLES["administrator"]))
    client.force_login(ada)
    world = make_world(client)

    for name in sorted(COMMANDS.keys() - TAKES_A_BODY):
        _, path = routes()[name]
        parts = [value_of(name, part, world) for part in re.findall(r"{(\w+)}", path)]
        answer = client.get(re.sub(r"{\w+}", "{}", path).format(*parts))
        assert answer.status_code == 200, (name, answer.content)

        printed = printed_by(*COMMANDS[name], *parts)

        assert facts_in(printed) == facts_in(answer.content.decode()), name


def value_of(name: str, part: str, world: Values) -> Any:
    """What a part of a path names."""
    if "rules" in name or name == "read_passes":
        return "DLQ"
    return world.get(part) or world[f"{part}_id"]


def printed_by(*words: object) -> str:
    """What a command prints; it exits with 3 where there is nothing."""
    out = StringIO()
    options = ("--user", "ada", "--json")
    with suppress(CommandError):  # with 3: there is nothing
        call_command("backout", *map(str, words), *options, stdout=out)
    return out.getvalue()


def facts_in(text: str) -> Any:
    return json.loads(PASSING.sub('"passing"', text))
