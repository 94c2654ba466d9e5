"""All settings, from the environment; the defaults are for this machine alone.

How the broker treats messages is not set here but in the database (``AddressSetting``),
so that an administrator can change it at run time.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import environ
from cryptography.fernet import Fernet

from console.runtime import socket_paths
from console.runtime.celery_settings import *  # noqa: F403
from console.settings_signing_in import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

# Run-time data: databases, sockets, logs, reports.
VAR_DIR = Path(env("BACKOUT_VAR", default=str(BASE_DIR / "var"))).resolve()

DEBUG = env.bool("DEBUG", default=False)
ENVIRONMENT = env("BACKOUT_ENVIRONMENT", default="dev")  # the band on every page
SECRET_KEY_FILE = VAR_DIR / "secret_key"
SECRET_KEY = env("SECRET_KEY", default="") or (
    SECRET_KEY_FILE.read_text()
    if os.access(SECRET_KEY_FILE, os.R_OK)
    else secrets.token_urlsafe(50)  # for set-up only; sessions need a lasting key
)
SECRET_KEYS_FILE = VAR_DIR / "secret_keys"  # encrypt passwords for other brokers
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
    "console.apps.SettingsConfig",  # replaces django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "allauth.account",
    "allauth.mfa",
    "axes",
    "channels",
    "csp",
    "django_celery_beat",
    "django_htmx",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "console.static_files.StaticFilesMiddleware",
    "csp.middleware.CSPMiddleware",
    "console.layout.private_answers.PrivateMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.accounts.sessions.SessionsMiddleware",
    "console.second_factors.gate.SecondFactorMiddleware",
    "console.accounts.actor.ActingMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "console.layout.error_responses.RefusalMiddleware",
    "console.accounts.time_zones.ZoneMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "console.urls"
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
                "console.layout.navigation.frame",
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
# The web process answers in many short threads, which share a pool (console/asgi.py);
# threads of other processes are long-lived, and each keeps its connection.
POOLED = env.bool("DATABASE_POOL", default=False)
DATABASES["default"]["CONN_MAX_AGE"] = 0 if POOLED else 60
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True
# A plan is made once, perhaps when the queue is empty, and must suit a full queue.
DATABASES["default"]["OPTIONS"].setdefault(
    "options",
    "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
    " -c statement_timeout=60s -c lock_timeout=10s"
    " -c idle_in_transaction_session_timeout=60s",
)
# Django's own statements are bound on the client and never prepared; the broker's are.
DATABASES["default"]["OPTIONS"].setdefault("prepare_threshold", 5)
if POOLED:
    DATABASES["default"]["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": 10,
        "timeout": 10,
    }
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = env("REDIS_URL", default=socket_paths.redis_url(VAR_DIR))
# A web socket waits for messages from Redis, sometimes for hours. The default timeout
# of five seconds would end the wait, and hides cancellations in Python 3.11. So there
# is no timeout, and the consumers of sockets check themselves whether Redis answers.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {"hosts": [{"address": REDIS_URL, "socket_timeout": None}]},
    }
}

# Celery's server; the rest is in runtime/celery_settings.py.
CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://")
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
    "max_retries": 1,  # a page that asks for a report does not wait for Redis
    "interval_start": 0,
    "interval_step": 0,
}

SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
        "img-src": ["'self'", "data:"],
    }
}

# Token for /metrics; empty: only clients on this machine get metrics.
BACKOUT_METRICS_TOKEN = env.str("BACKOUT_METRICS_TOKEN", default="")

# Percent of the disk of BACKOUT_VAR that is free: below the first, people are told;
# below the second, /readyz says no. 0 switches either off.
BACKOUT_DISK_LOW_PERCENT = env.float("BACKOUT_DISK_LOW_PERCENT", default=10.0)
BACKOUT_DISK_FULL_PERCENT = env.float("BACKOUT_DISK_FULL_PERCENT", default=2.0)

# How long the response to an idempotency key is kept.
BACKOUT_ANSWERS_KEPT_HOURS = env.int("BACKOUT_ANSWERS_KEPT_HOURS", default=24)
# The largest request in bytes, with all its messages.
DATA_UPLOAD_MAX_MEMORY_SIZE = env.int("BACKOUT_MAX_REQUEST_BYTES", default=16 * 2**20)
FILE_UPLOAD_HANDLERS = [
    "console.runtime.request_size.UploadLimit",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
FILE_UPLOAD_PERMISSIONS = 0o600  # of collected files, too: they are in VAR_DIR
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}

# Broker-wide limits; what differs by address is in AddressSetting.
BROKER_TRANSACTION_TIMEOUT_S = env.int("BROKER_TRANSACTION_TIMEOUT_S", default=300)
BROKER_MESSAGE_RETENTION_DAYS = env.int("BROKER_MESSAGE_RETENTION_DAYS", default=7)
# Above this size of all messages on the disk, the oldest go earlier; 0: no limit.
BROKER_MESSAGE_RETENTION_BYTES = env.int(
    "BROKER_MESSAGE_RETENTION_BYTES", default=20 * 2**30
)
# How long after its end an operation can be undone.
BROKER_UNDO_WINDOW_S = env.int("BROKER_UNDO_WINDOW_S", default=1800)
# How long an operation waits for a consumer to get the messages of its canary.
BROKER_CANARY_PATIENCE_S = env.int("BROKER_CANARY_PATIENCE_S", default=300)
# How long an operation can be approved and started after it was planned.
BROKER_APPROVAL_WINDOW_S = env.int("BROKER_APPROVAL_WINDOW_S", default=14_400)
BROKER_JOURNAL_RETENTION_DAYS = env.int("BROKER_JOURNAL_RETENTION_DAYS", default=30)
BROKER_MAX_MESSAGE_BYTES = env.int("BROKER_MAX_MESSAGE_BYTES", default=100 * 2**20)
BROKER_MAX_UNCOMMITTED_MESSAGES = env.int(
    "BROKER_MAX_UNCOMMITTED_MESSAGES", default=10_000
)
BROKER_MAX_UNCOMMITTED_BYTES = env.int(
    "BROKER_MAX_UNCOMMITTED_BYTES", default=100 * 2**20
)
BROKER_NAME = env.str("BROKER_NAME", default="BACKOUT")  # like a queue manager's name
BROKER_DEAD_LETTER_QUEUE = env.str(
    "BROKER_DEAD_LETTER_QUEUE", default="SYSTEM.DEAD.LETTER.QUEUE"
)
BROKER_SKIP_BACKOUT = env.bool("BROKER_SKIP_BACKOUT", default=True)
# Artemis' max-redelivery-records: -1 is no limit.
BROKER_MAX_REDELIVERY_RECORDS = env.int("BROKER_MAX_REDELIVERY_RECORDS", default=10)
BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = env.bool(
    "BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY", default=False
)
# Seconds between searches for expired messages; negative: only if a get finds none.
BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = env.float(
    "BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S", default=1.0
)
# Seconds between checks whether auto-created queues and addresses are idle and can be
# deleted; negative: no checks, so they are never deleted.
BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S = env.float(
    "BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S", default=30.0
)
CELERY_BEAT_SCHEDULE = {
    "broker: apply dead letter rules": {
        "task": "broker.tasks.apply_dead_letter_rules",
        "schedule": 10.0,
        "options": {"expire_seconds": 10},
    },
    "broker: delete what made itself": {
        "task": "broker.tasks.auto_delete",
        "schedule": max(BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S, 1.0),
        "options": {"expire_seconds": max(int(BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S), 2)},
    },
    "broker: forget answers": {
        "task": "broker.tasks.forget_answers",
        "schedule": 300.0,
        "options": {"expire_seconds": 300},
    },
}
# Syntax of address setting patterns: see broker/formats/wildcards.py.
BROKER_WILDCARD_DELIMITER = env.str("BROKER_WILDCARD_DELIMITER", default=".")
BROKER_WILDCARD_ANY_WORDS = env.str("BROKER_WILDCARD_ANY_WORDS", default="#")
BROKER_WILDCARD_SINGLE_WORD = env.str("BROKER_WILDCARD_SINGLE_WORD", default="*")
BROKER_LITERAL_MATCH_MARKERS = env.str("BROKER_LITERAL_MATCH_MARKERS", default="")

# AMQP. Listening addresses and authentication.
BROKER_AMQP_HOST = env.str("BROKER_AMQP_HOST", default="127.0.0.1")
BROKER_AMQP_PORT = env.int("BROKER_AMQP_PORT", default=5672)
# If no port is set, the listener may use the next port that is free.
BROKER_AMQP_PORT_IS_FIXED = "BROKER_AMQP_PORT" in os.environ
# The TLS port, used only with a certificate. The next three are PEM files.
BROKER_AMQPS_PORT = env.int("BROKER_AMQPS_PORT", default=5671)
BROKER_AMQP_CERTIFICATE = env.str("BROKER_AMQP_CERTIFICATE", default="")
BROKER_AMQP_KEY = env.str("BROKER_AMQP_KEY", default="")
BROKER_AMQP_CLIENT_CA = env.str("BROKER_AMQP_CLIENT_CA", default="")
# Whether passwords are accepted without TLS; None: only from this machine.
BROKER_AMQP_PLAIN_WITHOUT_TLS = env.bool("BROKER_AMQP_PLAIN_WITHOUT_TLS", default=None)
# Whether SCRAM is offered; None: only where PLAIN is not. SCRAM works for credentials
# only, and clients that are offered SCRAM use nothing else.
BROKER_AMQP_SCRAM = env.bool("BROKER_AMQP_SCRAM", default=None)
# Whether clients of Azure Service Bus may log in with tokens. Whoever reads the
# credentials in the database can then make tokens.
BROKER_AMQP_CBS = env.bool("BROKER_AMQP_CBS", default=False)
# Limits of clients per listening process; see broker/amqp/limits.py.
BROKER_AMQP_MAX_CONNECTIONS = env.int("BROKER_AMQP_MAX_CONNECTIONS", default=10_000)
BROKER_AMQP_MAX_CONNECTIONS_PER_USER = env.int(
    "BROKER_AMQP_MAX_CONNECTIONS_PER_USER", default=4000
)
BROKER_AMQP_MAX_CONNECTIONS_PER_HOST = env.int(
    "BROKER_AMQP_MAX_CONNECTIONS_PER_HOST", default=4000
)
BROKER_AMQP_MAX_BEFORE_LOGIN = env.int("BROKER_AMQP_MAX_BEFORE_LOGIN", default=200)
BROKER_AMQP_MAX_BEFORE_LOGIN_PER_HOST = env.int(
    "BROKER_AMQP_MAX_BEFORE_LOGIN_PER_HOST", default=100
)
BROKER_AMQP_LOGIN_TIMEOUT_S = env.float("BROKER_AMQP_LOGIN_TIMEOUT_S", default=10.0)
BROKER_AMQP_LOGIN_BYTES = env.int("BROKER_AMQP_LOGIN_BYTES", default=8192)
# The number of wrong passwords in a minute before a host or a name is refused.
BROKER_AMQP_MAX_LOGIN_FAILURES_PER_HOST = env.int(
    "BROKER_AMQP_MAX_LOGIN_FAILURES_PER_HOST", default=100
)
BROKER_AMQP_MAX_LOGIN_FAILURES_PER_NAME = env.int(
    "BROKER_AMQP_MAX_LOGIN_FAILURES_PER_NAME", default=10
)
BROKER_AMQP_MAX_SESSIONS = env.int("BROKER_AMQP_MAX_SESSIONS", default=256)
BROKER_AMQP_MAX_ENDPOINTS = env.int("BROKER_AMQP_MAX_ENDPOINTS", default=1024)
BROKER_AMQP_MAX_FRAME_BYTES = env.int("BROKER_AMQP_MAX_FRAME_BYTES", default=65_536)
BROKER_AMQP_IDLE_TIMEOUT_S = env.float("BROKER_AMQP_IDLE_TIMEOUT_S", default=120.0)
BROKER_AMQP_MAX_IN_FLIGHT = env.int("BROKER_AMQP_MAX_IN_FLIGHT", default=2000)
BROKER_AMQP_MAX_IN_FLIGHT_BYTES = env.int(
    "BROKER_AMQP_MAX_IN_FLIGHT_BYTES", default=64 * 2**20
)
BROKER_AMQP_MAX_PARTIAL_BYTES = env.int(
    "BROKER_AMQP_MAX_PARTIAL_BYTES", default=BROKER_MAX_MESSAGE_BYTES + 2**20
)
BROKER_AMQP_MAX_UNSENT_BYTES = env.int("BROKER_AMQP_MAX_UNSENT_BYTES", default=2**20)
BROKER_AMQP_PUT_CREDIT = env.int("BROKER_AMQP_PUT_CREDIT", default=400)
BROKER_AMQP_MAX_TRANSACTION_MESSAGES = env.int(
    "BROKER_AMQP_MAX_TRANSACTION_MESSAGES", default=BROKER_MAX_UNCOMMITTED_MESSAGES
)
BROKER_AMQP_MAX_TRANSACTION_BYTES = env.int(
    "BROKER_AMQP_MAX_TRANSACTION_BYTES", default=BROKER_MAX_UNCOMMITTED_BYTES
)
BROKER_AMQP_MAX_TRANSACTION_AGE_S = env.float(
    "BROKER_AMQP_MAX_TRANSACTION_AGE_S", default=BROKER_TRANSACTION_TIMEOUT_S
)

# Modules with message transformers of links, beside those of installed applications.
BACKOUT_TRANSFORMERS = env.list("BACKOUT_TRANSFORMERS", default=[])

# Links of bridges: message ids kept to detect duplicates, in seconds and ids per link.
BRIDGE_DUPLICATES_KEPT_S = env.float("BRIDGE_DUPLICATES_KEPT_S", default=7 * 86400.0)
BRIDGE_DUPLICATES_KEPT = env.int("BRIDGE_DUPLICATES_KEPT", default=1_000_000)

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env("LOG_LEVEL", default="INFO")},
}
