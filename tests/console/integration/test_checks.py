"""The system checks say in a sentence what a project lacks for the console."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from console.integration import checks
from console.runtime import prefix


def found(check: Any) -> set[str | None]:
    return {one.id for one in check()}


def test_the_console_s_own_project_lacks_nothing() -> None:
    for check in (
        checks.applications_are_installed,
        checks.middleware_is_installed,
        checks.templates_know_the_frame,
        checks.urls_are_included,
        checks.tasks_can_run,
        checks.factors_are_installed,
        checks.traces_have_a_page,
        checks.pages_are_live,
    ):
        assert found(check) == set()


@pytest.mark.parametrize(
    ("check", "name", "value", "code"),
    [
        (checks.middleware_is_installed, "MIDDLEWARE", [], "console.E004"),
        (
            checks.middleware_is_installed,
            "MIDDLEWARE",
            [checks.MIDDLEWARE, checks.AFTER],
            "console.E005",
        ),
        (
            checks.templates_know_the_frame,
            "TEMPLATES",
            [{"BACKEND": checks.DJANGO_TEMPLATES}],
            "console.E006",
        ),
        (
            checks.traces_have_a_page,
            "BACKOUT_TRACE_URL",
            "javascript:alert('{trace_id}')",
            "console.E012",
        ),
        (checks.times_have_zones, "USE_TZ", False, "console.E015"),
        (checks.pages_are_live, "CHANNEL_LAYERS", {}, "console.I001"),
        (
            checks.pages_are_live,
            "ASGI_APPLICATION",
            "django.core.asgi.application",
            "console.W002",
        ),
    ],
)
def test_what_is_missing_is_named(
    settings: Settings, check: Any, name: str, value: Any, code: str
) -> None:
    setattr(settings, name, value)
    assert found(check) == {code}


@pytest.mark.parametrize(
    ("missing", "check", "code"),
    [
        ("django.contrib.postgres", checks.applications_are_installed, "console.E002"),
        ("django_celery_beat", checks.tasks_can_run, "console.E009"),
        ("allauth.mfa", checks.factors_are_installed, "console.E010"),
    ],
)
def test_an_application_that_is_missing_is_named(
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    missing: str,
    check: Any,
    code: str,
) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["*"]
    monkeypatch.setattr(
        "console.integration.checks.apps.is_installed", lambda name: name != missing
    )
    assert found(check) == {code}


def test_without_the_broker_there_is_no_console() -> None:
    with pytest.raises(ImproperlyConfigured, match="needs dashboards and broker"):
        checks.require_applications(["console", "django.contrib.auth"])


def test_urls_that_leave_it_out_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix, "root", lambda: "\0")
    assert found(checks.urls_are_included) == {"console.E007"}
