"""The picture of the topology in a browser: its numbers change, keys lead on."""

from __future__ import annotations

import pytest
from django.contrib.auth.hashers import make_password
from playwright.sync_api import expect

from broker.queueing.put import put_many
from console.accounts import roles
from tests.broker.elsewhere import Background
from tests.console.browsing import arrive, opened, sign_in, violations
from tests.make import make_messages, make_queue, make_setting, make_user

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_depth_in_the_picture_is_live_and_enter_leads_to_its_queue(
    site: str, transactional_db: None
) -> None:
    omar = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    omar.password = make_password("correct horse", hasher="argon2")  # as the server's
    omar.save(update_fields=["password"])
    make_queue("DLQ")
    orders = make_queue()
    make_setting("orders", dead_letter_address="DLQ")

    with opened(site) as page:
        sign_in(page, "/topology/")
        arrive(page, "Topology")
        ready = page.locator(f'.topology [data-slot="q{orders.pk}-ready"]')
        expect(ready).to_have_text("0")
        Background(lambda: put_many(make_messages(7))).join()
        expect(ready).to_have_text("7")
        assert violations(page) == []

        page.locator(".topology .node-queue a", has_text="orders").focus()
        page.keyboard.press("Enter")
        arrive(page, "orders")
