"""What somebody does to their own account and views, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker import filters
from broker.models import Act
from console import saved_views

PASSWORD = "correct horse"
Case = tuple[str, dict[str, Any], Act]  # where to, what is sent, and what is recorded


def at(name: str, *args: object) -> str:
    return reverse(name, args=args)


def planner() -> User:
    """Whoever was the first that there was."""
    return User.objects.earliest("pk")


def login(client: Client) -> Case:
    client.logout()
    said = {"username": "administrator", "password": PASSWORD}
    return at("login"), said, Act.SIGN_IN


def logout(_: Client) -> Case:
    return at("logout"), {}, Act.SIGN_OUT


def end_session(client: Client) -> Case:
    Client().force_login(User.objects.get(pk=client.session["_auth_user_id"]))
    return at("console:end_session"), {"session": "others"}, Act.END_SESSION


def password_change(_: Client) -> Case:
    new = {"new_password1": "battery staple 7", "new_password2": "battery staple 7"}
    return at("password_change"), {"old_password": PASSWORD} | new, Act.SET_PASSWORD


def save_view(_: Client) -> Case:
    return at("console:save_view"), {"name": "All", "f": ["state:dead"]}, Act.CREATE


def view() -> str:
    wanted = filters.parse("state:dead")
    return saved_views.save(planner(), "All", wanted, is_shared=False).slug


def edit_view(_: Client) -> Case:
    return at("console:edit_view", view()), {"name": "Dead"}, Act.CHANGE


def delete_view(_: Client) -> Case:
    return at("console:delete_view", view()), {}, Act.DELETE


OWN: dict[str, Callable[[Client], Case]] = {
    "login": login,
    "logout": logout,
    "console:end_session": end_session,
    "password_change": password_change,
    "console:save_view": save_view,
    "console:edit_view": edit_view,
    "console:delete_view": delete_view,
}
