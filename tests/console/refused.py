"""Pages that say no, as a browser gets them where no server has to log a refusal."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.test import Client, override_settings
from playwright.sync_api import Page, Route

PLAIN = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
REFUSED = (
    "/queues/nowhere/",
    "/messages/123456789/",
    "/messages/?f=stat%3Adead",
    "/m/nowhere/",
    "/admin/axes/accessattempt/",  # which nobody may see
)
BROKEN = "/broken/"  # the page that needs nothing

Refusals = dict[str, str]  # what is answered, by path


@override_settings(STORAGES={"staticfiles": PLAIN}, ALLOWED_HOSTS=["testserver"])
def refusals(user: User) -> Refusals:
    client = Client()
    client.force_login(user)
    answers = {path: client.get(path) for path in REFUSED}
    assert not [path for path, one in answers.items() if one.status_code < 400]
    found = {path: one.content.decode() for path, one in answers.items()}
    return found | {BROKEN: render_to_string("console/500.html")}


def serve(page: Page, answers: Refusals) -> None:
    """Let a browser find them at their addresses."""

    def answer(route: Route) -> None:
        body = answers.get(route.request.url.removeprefix(origin(page)))
        if body is None:
            route.continue_()
        else:
            route.fulfill(body=body, content_type="text/html")

    page.route("**/*", answer)


def origin(page: Page) -> str:
    scheme, _, host = page.url.split("/")[:3]
    return f"{scheme}//{host}"
