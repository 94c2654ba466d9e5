"""A provider of OpenID Connect as a program: django-allauth's own, with a sign-in page.

``python -m tests.identity.provider PORT CALLBACK`` serves it until it is ended.
"""

from __future__ import annotations

import sys

import django
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from django.conf import settings

PAGES = "tests.identity.provider_pages"


def configure() -> None:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    processors = (
        "django.template.context_processors.request",
        "django.contrib.messages.context_processors.messages",
    )
    settings.configure(
        ALLOWED_HOSTS=["*"],
        SECRET_KEY="for tests",
        ROOT_URLCONF=PAGES,
        INSTALLED_APPS=[
            *("django.contrib.auth", "django.contrib.contenttypes"),
            *("django.contrib.sessions", "django.contrib.messages"),
            *("allauth", "allauth.account", "allauth.idp.oidc"),
        ],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "allauth.account.middleware.AccountMiddleware",
        ],
        DATABASES={
            "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        },
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": processors},
            }
        ],
        PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        ACCOUNT_EMAIL_VERIFICATION="none",
        ACCOUNT_RATE_LIMITS=False,
        IDP_OIDC_ADAPTER=f"{PAGES}.Claims",
        IDP_OIDC_PRIVATE_KEY=pem.decode(),
        USE_TZ=True,
    )
    django.setup()


if __name__ == "__main__":
    configure()
    from tests.identity import provider_pages

    provider_pages.serve(int(sys.argv[1]), sys.argv[2])
