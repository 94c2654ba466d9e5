"""No page escapes: each that can be got is among those that are looked at."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from tests.console.audit.test_audited import named, value_for
from tests.console.filled import fill, omar, settings_paths

pytestmark = pytest.mark.django_db

FACTORS = (
    *("authenticate", "activate_totp", "deactivate_totp", "view_recovery_codes"),
    *("generate_recovery_codes", "add_webauthn", "edit_webauthn", "remove_webauthn"),
)
FILES = ("export", "body", "data", "audit_export", "export_rules")
NO_PAGES = {
    **dict.fromkeys(
        ("console:depths", "console:history", "console:complete"), "a part of a page"
    ),
    "dashboards:run": "a part of a page",
    "dashboards:export": "a file",
    **{f"console:{name}": "a file" for name in FILES},
    "mfa_download_recovery_codes": "a file",
    **dict.fromkeys(("console:view", "single_sign_on_callback"), "it leads elsewhere"),
    **dict.fromkeys(
        ("console:alive", "console:ready", "console:metrics"), "for programs"
    ),
    "account_login": "looked at before anybody signs in",
    **{f"mfa_{name}": "test_browser_second_factors.py looks at it" for name in FACTORS},
}


@pytest.mark.thorough
def test_every_page_that_can_be_got_is_looked_at(client: Client) -> None:
    user = omar()
    every = dict(named(get_resolver()))

    got = {name for name, one in every.items() if can_be_got(client, user, name, one)}

    assert got == fill(user).keys() | NO_PAGES.keys()


def can_be_got(client: Client, user: User, name: str, one: URLPattern) -> bool:
    converters = one.pattern.converters.items()
    kwargs = {key: value_for(kind) for key, kind in converters}
    client.force_login(user)
    return client.get(reverse(name, kwargs=kwargs)).status_code != 405


@pytest.mark.thorough
def test_each_of_them_is_there_with_one_heading(client: Client) -> None:
    user = omar()
    paths = [path for paths in fill(user).values() for path in paths]
    client.force_login(user)
    for path in (*paths, *settings_paths()):
        answer = client.get(path, follow=True)
        assert (path, answer.status_code) == (path, 200)
        assert answer["Content-Type"].startswith("text/html")
        assert (path, answer.content.count(b"<h1")) == (path, 1)
