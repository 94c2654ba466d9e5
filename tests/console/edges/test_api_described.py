"""The API against its own description: requests are drawn from it, right and wrong
ones, and answers are as it says, whatever came; never of 5xx."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import schemathesis
from django.contrib.auth.models import User
from django.core.wsgi import get_wsgi_application
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from ninja import Schema
from pydantic import BaseModel
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from broker.amqp.messages import batches
from broker.queueing.put import put_many
from console import api
from tests.console.bridges.api_bridge_acts import make_bridge
from tests.console.letters import die, make_places
from tests.make import make_messages, make_setting

pytestmark = pytest.mark.thorough

EXAMPLES = 1  # of each request, in each mode
TOKEN = "a" * 32
schemathesis.serializer.alias(batches.CONTENT_TYPE, "application/octet-stream")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
DRAWN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def described(transactional_db: None) -> BaseSchema:
    """As somebody who may all sees it, where there is something of everything."""
    make_places(attempts=1)
    die(attempts=1)
    put_many(make_messages(3))
    make_setting("#", max_delivery_attempts=3)
    make_bridge()
    client = Client()
    client.force_login(User.objects.create_superuser("ada"))
    session = client.cookies["sessionid"].value
    application = get_wsgi_application()

    def with_session(environ: dict[str, Any], start: Any) -> Any:
        environ["HTTP_COOKIE"] = f"sessionid={session}; csrftoken={TOKEN}"
        environ["HTTP_X_CSRFTOKEN"] = TOKEN
        return application(environ, start)

    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", with_session)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_answer_is_as_described(
    described: BaseSchema, mode: GenerationMode
) -> None:
    asked = 0

    for found in described.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()

        @DRAWN
        @given(case=operation.as_strategy(generation_mode=mode))
        def holds(case: schemathesis.Case) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(checks=CHECKS)

        holds()

    assert asked > 60


def test_no_two_things_are_described_under_one_name() -> None:
    bodies: dict[str, set[object]] = {}
    for router in api.ROUTERS:
        for view in router.path_operations.values():
            for operation in view.operations:
                told = [one for one in operation.response_models.values() if one]
                asked = [
                    one
                    for one in operation.models
                    if one.__ninja_param_source__ == "body"
                ]
                for model in (*told, *asked):
                    for name, field in schemas_in(model).items():
                        bodies.setdefault(name, set()).add(field)

    assert {name for name, found in bodies.items() if len(found) > 1} == set()


def schemas_in(model: Any) -> dict[str, object]:
    """The schemas that a model is made of, by name."""
    found: dict[str, object] = {}
    waiting = [model]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if found.get(kind.__name__) is kind:
                continue
            if issubclass(kind, Schema) and kind.__module__.startswith("console."):
                found[kind.__name__] = kind
            waiting += [one.annotation for one in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return found
