"""What somebody does to their own account and views, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.acts import act
from broker.models import Act
from console.messages.acts import SaveView
from tests.console.second_factors import factors

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
    return at("account_login"), said, Act.SIGN_IN


def logout(_: Client) -> Case:
    return at("console:logout"), {}, Act.SIGN_OUT


def end_session(client: Client) -> Case:
    Client().force_login(User.objects.get(pk=client.session["_auth_user_id"]))
    return at("console:end_session"), {"session": "others"}, Act.END_SESSION


def password_change(_: Client) -> Case:
    new = {"new_password1": "battery staple 7", "new_password2": "battery staple 7"}
    return (
        at("console:password_change"),
        {"old_password": PASSWORD} | new,
        Act.SET_PASSWORD,
    )


def me(client: Client) -> User:
    return User.objects.get(pk=client.session["_auth_user_id"])


def give_code(client: Client) -> Case:
    user = me(client)
    factors.give_app(user)
    client.logout()
    factors.give_password(client, user)
    return at("mfa_authenticate"), {"code": factors.code_now()}, Act.SIGN_IN


def set_up_app(client: Client) -> Case:
    factors.give_codes(me(client))
    factors.give_password_again(client)
    secret = factors.secret_on(client.get(at("mfa_activate_totp")).content.decode())
    said = {"code": factors.code_now(secret)}
    return at("mfa_activate_totp"), said, Act.ADD_FACTOR


def remove_app(client: Client) -> Case:
    factors.give_app(me(client))
    factors.give_password_again(client)
    return at("mfa_deactivate_totp"), {}, Act.REMOVE_FACTOR


def make_codes(client: Client) -> Case:
    factors.give_app(me(client))
    factors.give_password_again(client)
    return at("mfa_generate_recovery_codes"), {}, Act.NEW_CODES


def add_key(client: Client) -> Case:
    factors.give_codes(me(client))
    factors.give_password_again(client)
    asked = client.get(at("mfa_add_webauthn")).context["js_data"]["creation_options"]
    said = {"name": "Blue", "credential": factors.SoftKey().added(asked)}
    return at("mfa_add_webauthn"), said, Act.ADD_FACTOR


def key_of(client: Client) -> int:
    factors.give_key(me(client))
    factors.give_password_again(client)
    return int(Authenticator.objects.get(type="webauthn").pk)


def name_key(client: Client) -> Case:
    return at("mfa_edit_webauthn", key_of(client)), {"name": "Red"}, Act.NAME_KEY


def remove_key(client: Client) -> Case:
    return at("mfa_remove_webauthn", key_of(client)), {}, Act.REMOVE_FACTOR


def save_view(_: Client) -> Case:
    return (
        at("console:save_view"),
        {"name": "All", "filter": ["state:dead"]},
        Act.CREATE,
    )


def view() -> str:
    return str(act(planner(), SaveView("All", ("state:dead",))).slug)


def edit_view(_: Client) -> Case:
    return at("console:edit_view", view()), {"name": "Dead"}, Act.CHANGE


def delete_view(_: Client) -> Case:
    return at("console:delete_view", view()), {}, Act.DELETE


OWN: dict[str, Callable[[Client], Case]] = {
    "account_login": login,
    "console:logout": logout,
    "mfa_authenticate": give_code,
    "mfa_activate_totp": set_up_app,
    "mfa_deactivate_totp": remove_app,
    "mfa_generate_recovery_codes": make_codes,
    "mfa_add_webauthn": add_key,
    "mfa_edit_webauthn": name_key,
    "mfa_remove_webauthn": remove_key,
    "console:end_session": end_session,
    "console:password_change": password_change,
    "console:save_view": save_view,
    "console:edit_view": edit_view,
    "console:delete_view": delete_view,
}
