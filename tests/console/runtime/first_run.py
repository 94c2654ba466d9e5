"""A first run, step by step: from the sign-in to a message that a program received.

python manage.py with_servers python -m tests.console.runtime.first_run
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from django.conf import settings
from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect, sync_playwright

from console.accounts import roles
from tests.amqp.apart import own_database
from tests.console.browsing import (
    PROGRAMS,
    arrive,
    complaints_of,
    launched,
    running_console,
)
from tests.console.hands import Pointer
from tests.console.operator import Day, table
from tests.console.ports import kept_port
from tests.make import make_user

PASSWORD = "correct horse"


def work(page: Page) -> Day:
    """The steps of the card, with the program that the page gives."""
    day = Day(Pointer(page))
    with day.step("sign in"):
        page.goto("/")
        day.hands.write("Username", "ada")
        day.hands.write("Password", PASSWORD)
        day.hands.press("^Sign in$")
        arrive(page, "Overview")
    with day.step("create a queue"):
        step(day, "^New queue…", "New queue", {"Name": "orders"}, "^Create queue$")
        arrive(page, "orders")
    with day.step("create a credential"):
        day.hands.place("Overview", "o")
        step(day, "^New credential…", "New credential", {"Name": "shop"}, "^Create it")
        arrive(page, "shop is made")
        day.hands.press("^Copy the secret")
        secret = page.locator("#secret").inner_text()
    with day.step("send a test message"):
        day.hands.place("Overview", "o")
        to = "Send a message to orders"
        step(day, "^Send a message…", to, {"Text": "hello"}, "^Send$")
        arrive(page, re.compile("^Message"))
    with day.step("receive it in a program"):
        day.hands.place("Overview", "o")
        step(day, "^Connect a program…", "Connect a program to orders", {}, "^Copy")
        assert "hello" in printed(page.locator("#program-proton").inner_text(), secret)
    with day.step("see that nothing is left to do"):
        day.hands.place("Overview", "o")
        arrive(page, "Overview")
        expect(page.get_by_text("Your first message")).to_have_count(0)
    return day


def step(day: Day, link: str, heading: str, typed: dict[str, str], button: str) -> None:
    """From the overview to the page of a step, and its button."""
    day.hands.press(link)
    arrive(day.hands.page, heading)
    for label, text in typed.items():
        day.hands.write(label, text)
    day.hands.press(button)


def printed(program: str, secret: str) -> str:
    """What a program prints."""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"BACKOUT_SECRET": secret},
        capture_output=True,
        check=True,
        text=True,
    )
    return ran.stdout


def main() -> None:
    with kept_port() as port, own_database("first_run"), TemporaryDirectory() as var:
        # The pages name this port, and the listener is there.
        os.environ["BROKER_AMQP_PORT"] = str(port)
        settings.BROKER_AMQP_PORT = port
        ada = make_user("ada", permissions=tuple(roles.ROLES["administrator"]))
        ada.password = make_password(PASSWORD, hasher="argon2")  # as the server's
        ada.save(update_fields=["password"])
        with (
            running_console(Path(var), (*PROGRAMS, "listener")) as url,
            sync_playwright() as playwright,
        ):
            browser = launched(playwright)
            page = browser.new_page(
                base_url=url, viewport={"width": 1440, "height": 900}
            )
            complaints = complaints_of(page)
            print(table(work(page)))
            browser.close()
            assert complaints == []


if __name__ == "__main__":
    main()
