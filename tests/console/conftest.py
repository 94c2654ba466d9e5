"""Pages without collected files, and somebody to look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from console.accounts import roles
from tests.console.browsing import running_console
from tests.make import make_user

SignIn = Callable[[str], Client]


@pytest.fixture(scope="module")
def site(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The console of a module whose tests use a browser; its URL."""
    with running_console(tmp_path_factory.mktemp("var")) as url:
        yield url


@pytest.fixture(autouse=True)
def _files_keep_their_names(settings: Settings, tmp_path: Path) -> None:
    """Nobody collects static files for a test."""
    plain = "django.contrib.staticfiles.storage.StaticFilesStorage"
    settings.STORAGES = {**settings.STORAGES, "staticfiles": {"BACKEND": plain}}
    settings.STATIC_ROOT = tmp_path


@pytest.fixture
def sign_in(db: None, client: Client) -> SignIn:
    """Signs in somebody with a role: viewer, operator or administrator."""

    def with_role(role: str) -> Client:
        user = make_user(
            role,
            permissions=tuple(roles.ROLES[role]),
            granted=roles.AUTHORITIES[role],
        )
        user.is_staff = role == "administrator"
        user.save()
        client.force_login(user)
        return client

    return with_role


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    """An administrator, signed in."""
    return sign_in("administrator")
