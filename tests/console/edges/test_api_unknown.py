"""What the API refuses to overlook: unknown fields and parameters, what is not JSON,
methods that a path does not have, and its root.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pydantic import BaseModel, ConfigDict

from broker.models import Message
from console import api
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.edges.test_api_described import schemas_in
from tests.make import make_queue

MESSAGES = f"{ROOT}/addresses/orders/messages"
JSON = "application/json"


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    make_queue("orders")
    return sign_in("administrator")


def test_an_unknown_field_is_named_and_nothing_is_put(ada: Client) -> None:
    answer = ada.post(MESSAGES, {"bdy": {"amount": 7}}, content_type=JSON)

    told = problem(answer, 422)
    assert told["code"] == "invalid-request"
    assert told["detail"] == (
        "body.message.bdy: This field does not exist."
        " Correct its name, or leave it out."
    )
    assert told["errors"][0]["where"] == ["body", "message", "bdy"]
    assert not Message.objects.exists()


def test_an_unknown_field_inside_a_batch_is_named(ada: Client) -> None:
    batch = {"messages": [{"body": "one"}, {"body": "two", "prioritiy": 9}]}

    told = problem(ada.post(f"{MESSAGES}/batch", batch, content_type=JSON), 422)

    assert "messages.1.prioritiy: This field does not exist." in told["detail"]
    assert not Message.objects.exists()


def test_every_request_refuses_unknown_fields() -> None:
    seen = 0
    for operation in operations():
        for model in operation.models:
            if model.__ninja_param_source__ == "body":
                for schema in schemas_in(model).values():
                    seen += 1
                    assert configuration(schema).get("extra") == "forbid"

    assert seen > 40


def test_no_answer_is_closed_to_further_fields() -> None:
    for operation in operations():
        for model in operation.response_models.values():
            for schema in schemas_in(model).values() if model else ():
                assert "extra" not in configuration(schema)


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/queues?limt=5", "The parameters are: after, limit, text"),
        ("/health?deep=1", "There are none here"),
    ],
)
def test_an_unknown_parameter_is_named(ada: Client, path: str, known: str) -> None:
    told = problem(ada.get(f"{ROOT}{path}"), 422)

    name = path.partition("?")[2].partition("=")[0]
    assert told["code"] == "invalid-request"
    assert told["errors"][0]["where"] == ["query", name]
    assert told["detail"].startswith(f"query.{name}: This parameter does not exist.")
    assert known in told["detail"]


def test_who_has_not_signed_in_is_told_so_first(client: Client, db: None) -> None:
    assert problem(client.get(f"{ROOT}/queues?limt=5"), 401)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        ("NaN", "NaN is no JSON"),
        ("Infinity", "Infinity is no JSON"),
        ("-Infinity", "-Infinity is no JSON"),
        ("1e999", "1e999 is larger than any number that can be stored"),
    ],
)
def test_what_is_no_number_of_json_is_refused(
    ada: Client, number: str, why: str
) -> None:
    sent = f'{{"body": {{"amount": {number}}}, "encoding": "json"}}'

    told = problem(ada.post(MESSAGES, sent, content_type=JSON), 400)

    assert told["code"] == "bad-request"
    assert told["detail"] == (
        f"The body of the request cannot be read: {why}. Correct it and send it again."
    )
    assert not Message.objects.exists()


def test_what_is_not_json_is_told_with_its_place(ada: Client) -> None:
    told = problem(ada.post(MESSAGES, '{"body": ', content_type=JSON), 400)

    assert told["detail"] == (
        "The body of the request cannot be read: Expecting value: line 1 column 10"
        " (char 9). Correct it and send it again."
    )


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/queues", "GET"),
        ("GET", "/addresses/orders/messages", "POST"),
        ("POST", "/openapi.json", "GET, HEAD"),
    ],
)
def test_a_method_that_a_path_lacks_is_a_problem(
    ada: Client, method: str, path: str, allowed: str
) -> None:
    answer = ada.generic(method, f"{ROOT}{path}")

    told = problem(answer, 405)
    assert told["code"] == "method-not-allowed"
    assert told["detail"] == f"This path takes {allowed}, not {method}."
    assert answer["Allow"] == allowed


@pytest.mark.parametrize("path", ["/", "/nothing", "/queues/"])
def test_what_does_not_exist_is_a_problem(ada: Client, path: str) -> None:
    assert problem(ada.get(f"{ROOT}{path}"), 404)["code"] == "not-found"


def test_a_body_that_is_no_object_is_refused(ada: Client) -> None:
    for sent in ("[]", "7", '"text"', "null"):
        problem(ada.post(MESSAGES, sent, content_type=JSON), 422)


def operations() -> list[Any]:
    return [
        operation
        for router in api.ROUTERS
        for view in router.path_operations.values()
        for operation in view.operations
    ]


def configuration(schema: object) -> ConfigDict:
    assert isinstance(schema, type), schema
    assert issubclass(schema, BaseModel), schema
    return schema.model_config
