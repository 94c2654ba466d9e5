"""A Django project that has the broker, and the handler of the harness's messages."""

from __future__ import annotations

import os

from psycopg.conninfo import conninfo_to_dict

told = conninfo_to_dict(os.environ["DATABASE_URL"])
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": told["dbname"],
        "HOST": told.get("host", ""),
        "PORT": str(told.get("port", "")),
        "USER": told.get("user", ""),
        "PASSWORD": told.get("password", ""),
        "CONN_MAX_AGE": None,
    }
}
SECRET_KEY = "of a project that serves no pages"
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.postgres",
    "broker",
    "tests.harness.backout",
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
