"""The programs to copy: they run as they stand, and names are only names in them."""

from __future__ import annotations

import html
import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.models import Queue
from broker.queueing import journal
from broker.security import credentials
from tests.amqp.listening import listener
from tests.console.conftest import SignIn
from tests.console.edges.wire import make_credential
from tests.make import make_queue, make_user

ODD = 'eu/"orders"</script>\\'


def page(client: Client, queue: str) -> str:
    answer = client.get(reverse("console:connect", args=[queue]))
    assert answer.status_code == 200
    return answer.content.decode()


def program(shown: str, slug: str) -> str:
    found = re.search(rf'<code id="program-{slug}">(.*?)</code>', shown, re.S)
    assert found is not None
    return html.unescape(found[1])


def test_the_programs_in_python_send_and_receive(
    transactional_db: None,
    client: Client,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_queue(ODD)
    shop = make_user("shop")
    _, secret = credentials.create("shop", shop, patterns="#")
    seen = ("broker.view_queue", "broker.view_credential")
    client.force_login(make_user("ada", permissions=seen))
    monkeypatch.setenv("BACKOUT_SECRET", secret)
    with listener() as here:
        settings.BROKER_AMQP_HOST, settings.BROKER_AMQP_PORT = "127.0.0.1", here.port
        shown = page(client, ODD)
        for slug in ("proton", "django"):
            exec(program(shown, slug), {})

    assert capsys.readouterr().out == "hello\nhello\n"
    assert journal.depths()[Queue.objects.get().pk].accepted == 2


@pytest.mark.django_db
def test_the_page_names_no_credential_that_would_not_do(sign_in: SignIn) -> None:
    make_queue("orders")
    make_credential("elsewhere", patterns="bills")
    make_credential("sender", may_get=False)
    ada = sign_in("administrator")

    assert "NAME-OF-A-CREDENTIAL" in program(page(ada, "orders"), "rhea")
    make_credential("shop", make_user("shop-user"))
    assert '"shop"' in program(page(ada, "orders"), "jms")
    assert '"shop"' not in program(page(sign_in("operator"), "orders"), "jms")
