"""Pages without collected files, and somebody to look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoDbBlocker, Settings

from broker.security.authorities import EVERYTHING
from console.accounts import roles
from console.alerts import causes
from tests.conftest import empty_the_broker
from tests.console.browsing import running_console
from tests.make import make_user

SignIn = Callable[[str], Client]


class KeptSite(ExitStack):
    """A console that runs as long as tests in a row use it: its start takes seconds."""

    url = ""
    is_wanted = False  # by the test that comes next
    module = ""  # the last one with a test that used it

    def start(self, var: Path, blocker: DjangoDbBlocker) -> str:
        if not self.url:
            self.callback(empty_unblocked, blocker)
            self.url = self.enter_context(running_console(var))
        return self.url

    def stop(self) -> None:
        self.close()
        self.url = ""


def empty_unblocked(blocker: DjangoDbBlocker) -> None:
    """A console makes rows whenever one of its processes starts: after a test, too."""
    with blocker.unblock():
        empty_the_broker()


KEPT = KeptSite()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    KEPT.is_wanted = "site" in getattr(nextitem, "fixturenames", [])


@pytest.fixture(scope="session")
def _site_ends_before_the_database(django_db_setup: None) -> Iterator[None]:
    """However the run of tests ends."""
    yield
    KEPT.stop()


@pytest.fixture
def badge_is_known(db: None) -> None:
    """What the badge of alerts counts has just been read for another page, so that who
    counts queries counts those of one page."""
    causes.count(None, EVERYTHING)


@pytest.fixture(scope="module")
def site(
    _site_ends_before_the_database: None,
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """The console of tests that use a browser; its URL. Others find no console beside
    them: it works on the same database."""
    KEPT.module = request.node.nodeid
    yield KEPT.start(tmp_path_factory.mktemp("var"), django_db_blocker)
    if not KEPT.is_wanted:
        KEPT.stop()


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
