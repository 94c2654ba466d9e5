"""Settings of the console, from the environment; the defaults are for this machine.

Those of the broker are in ``broker/config/defaults.py``; it reads the environment, too.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

import environ
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from console.runtime import mail_settings, socket_paths
from console.runtime.directories import (
    BASE_DIR,
    SECRET_KEY_FILE,
    SECRET_KEYS_FILE,
    VAR_DIR,
)
from console.settings_signing_in import *  # noqa: F403

if TYPE_CHECKING:  # broker/config/django_settings.py sets these settings
    from typing import Any

    from broker.config.defaults import *  # noqa: F403
    from console.integration.defaults import *  # noqa: F403

    CHANNEL_LAYERS: dict[str, Any]

env = environ.Env()

DEBUG = env.bool("DEBUG", default=False)
BACKOUT_CELERY_APP = "console"
BACKOUT_ROLE_PREFIX = ""
SECRET_KEY = env("SECRET_KEY", default="") or (
    SECRET_KEY_FILE.read_text()
    if os.access(SECRET_KEY_FILE, os.R_OK)
    else secrets.token_urlsafe(50)  # for set-up only; sessions need a lasting key
)
BACKOUT_SECRET_KEYS = env.list("BACKOUT_SECRET_KEYS", default=[]) or (
    SECRET_KEYS_FILE.read_text().split()
    if os.access(SECRET_KEYS_FILE, os.R_OK)
    else [Fernet.generate_key().decode()]  # for set-up only
)
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])  # earlier keys
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "console",
    *(["console.demo"] if env.bool("BACKOUT_DEMO", default=False) else []),
    "dashboards",
    "broker",
    "django.contrib.admin.apps.SimpleAdminConfig",  # console/urls.py loads the admins
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "axes",
    "channels",
    "django_celery_beat",
    "django_htmx",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "console.integration.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "console.integration.middleware.ConsoleMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.integration.root_urls"
ASGI_APPLICATION = "console.asgi.application"
WSGI_APPLICATION = "console.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.home.frame.frame",
            ],
        },
    }
]

# PostgreSQL. The options are set on every connection: the broker's statements are
# prepared, and are written for generic plans (docs/decisions).
DATABASES = {
    "default": env.db("DATABASE_URL", default=socket_paths.database_url(VAR_DIR))
}
DATABASES["default"].setdefault("OPTIONS", {})
DATABASES["default"]["ENGINE"] = "django.db.backends.postgresql"
# seconds; the web process has a pool instead (console/asgi.py)
DATABASES["default"]["CONN_MAX_AGE"] = 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
if env("BROKER_DIRECT_DATABASE_URL", default=""):  # DATABASE_URL leads to a pooler
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
else:
    # A plan is made once, perhaps when the queue is empty, and must suit a full queue.
    DATABASES["default"]["OPTIONS"].setdefault(
        "options",
        "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
        " -c statement_timeout=60s -c lock_timeout=10s"
        " -c idle_in_transaction_session_timeout=60s",
    )
    # Only the broker's statements are prepared. Django puts the parameters into the
    # text of its own statements.
    DATABASES["default"]["OPTIONS"].setdefault("prepare_threshold", 5)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env("REDIS_URL", default=socket_paths.redis_url(VAR_DIR))

SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# Token for /metrics; empty: only clients on this machine get metrics.
BACKOUT_METRICS_TOKEN = env.str("BACKOUT_METRICS_TOKEN", default="")

# The largest request in bytes, with all its messages.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.int("BACKOUT_MAX_REQUEST_BYTES", default=16 * 2**20)
FILE_UPLOAD_HANDLERS = [
    "console.runtime.request_size.UploadLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# Mail of alerts, as smtp+tls://user:password@host:587.
vars().update(mail_settings.of(env.email_url("EMAIL_URL", default=mail_settings.HERE)))
DEFAULT_FROM_EMAIL = env("DEFAULT_FROM_EMAIL", default="backout@localhost")

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "console" / "locale"]
FORMAT_MODULE_PATH = ["console.configuration.formats"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
FILE_UPLOAD_PERMISSIONS = 0o600  # also for collected static files: they are in VAR_DIR
STATICFILES_DIRS = [("console", BASE_DIR / "static")]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# How processes log: lines for people, or JSON objects with the ids of what they are
# about (broker/monitoring/logs.py).
BACKOUT_LOG_FORMAT = env("BACKOUT_LOG_FORMAT", default="text")
if BACKOUT_LOG_FORMAT not in ("text", "json"):
    raise ImproperlyConfigured(
        f"BACKOUT_LOG_FORMAT is text or json, not {BACKOUT_LOG_FORMAT!r}."
    )

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
        "json": {"()": "broker.monitoring.logs.JsonFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": BACKOUT_LOG_FORMAT,
        }
    },
    # uvicorn has set its own handlers and format before: they are removed here.
    "loggers": {"uvicorn": {"handlers": [], "propagate": True, "level": "WARNING"}},
    "root": {"handlers": ["stderr"], "level": env("LOG_LEVEL", default="INFO")},
}
