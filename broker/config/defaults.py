"""Every Django setting that the broker reads: its type, its purpose, its default.

How the broker treats messages is not set here but in the database (``AddressSetting``),
so that an administrator can change it at run time. ``django_settings`` says how a
project overrides a default, and has those that depend on other settings: here these
have no value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

BROKER_NAME: Annotated[str, "Name of the broker, like a queue manager's."] = "BACKOUT"
BROKER_DEAD_LETTER_QUEUE: Annotated[
    str, "Queue for what IBM MQ would put on the queue manager's dead letter queue."
] = "SYSTEM.DEAD.LETTER.QUEUE"
REDIS_URL: Annotated[
    str, "Redis, for hints of arrivals. Empty: PostgreSQL carries them, by NOTIFY."
] = ""
BROKER_DIRECT_DATABASE_URL: Annotated[
    str,
    "URL of PostgreSQL itself, for the locks of processes, if DATABASES leads to a"
    " pooler in transaction mode. Empty: as DATABASES.",
] = ""
VAR_DIR: Annotated[Path, "Folder whose disk is watched; by default, the current."] = (
    Path()
)
BACKOUT_DISK_LOW_PERCENT: Annotated[
    float, "Free percent of that disk below which people are told; 0: never."
] = 10.0
BACKOUT_DISK_FULL_PERCENT: Annotated[
    float, "Free percent of that disk below which /readyz says no; 0: never."
] = 2.0
BACKOUT_LOG_TRACES: Annotated[
    bool,
    "Whether the log line of a failed delivery has its stack trace, for tools such as"
    " Sentry. The console has it always.",
] = False
BACKOUT_ANSWERS_KEPT_HOURS: Annotated[
    int, "How long the response to an idempotency key is kept."
] = 24

BACKOUT_URL: Annotated[
    str, "URL of the console, for links in notifications. Empty: they have none."
] = ""
BACKOUT_ALERT_NETWORKS: Annotated[
    list[str],
    "Networks that are not public and to which notifications may go, as 10.1.0.0/16.",
] = []
BACKOUT_ALERT_HTTP: Annotated[
    bool, "Whether notifications may go over http, without TLS."
] = False

BROKER_TRANSACTION_TIMEOUT_S: Annotated[
    int, "Seconds after which an open unit of work is backed out."
] = 300
BROKER_SETTLE_WITHIN_MS: Annotated[
    int,
    "Milliseconds, 0 to 100, that a handler's session waits for others, to commit with"
    " them by one statement; 0: each commits alone, those of an async def without a"
    " wait.",
] = 2
BROKER_MAX_MESSAGE_BYTES: Annotated[int, "The largest message."] = 100 * 2**20
BROKER_MAX_UNCOMMITTED_MESSAGES: Annotated[
    int, "Most messages of one unit of work."
] = 10_000
BROKER_MAX_UNCOMMITTED_BYTES: Annotated[int, "Most bytes of one unit of work."] = (
    100 * 2**20
)
BROKER_MESSAGE_RETENTION_DAYS: Annotated[
    int, "Days for which messages that ended can be read."
] = 7
BROKER_MESSAGE_RETENTION_BYTES: Annotated[
    int,
    "Size of all messages on the disk above which the oldest that ended are deleted"
    " earlier; 0: no limit.",
] = 20 * 2**30
BROKER_JOURNAL_RETENTION_DAYS: Annotated[int, "Days of the journal."] = 30
BROKER_SKIP_BACKOUT: Annotated[
    bool, "Whether a get may be marked, so that a backout skips its message."
] = True
BROKER_MAX_REDELIVERY_RECORDS: Annotated[
    int, "Artemis' max-redelivery-records; -1: no limit."
] = 10
BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY: Annotated[
    bool, "Artemis' persist-delivery-count-before-delivery."
] = False
BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S: Annotated[
    float, "Seconds between searches for expired messages; negative: only at gets."
] = 1.0
BROKER_ADDRESS_QUEUE_SCAN_PERIOD_S: Annotated[
    float, "Seconds between deletions of idle auto-created queues; negative: never."
] = 30.0
BROKER_HANDLER_MIDDLEWARE: Annotated[
    list[str],
    "What wraps all handlers, as dotted paths, the outermost first; see install.md.",
] = []
BROKER_UNDO_WINDOW_S: Annotated[
    int, "Seconds after its end in which an operation can be undone."
] = 1800
BROKER_CANARY_PATIENCE_S: Annotated[
    int, "Seconds an operation waits for a consumer to get its canary."
] = 300
BROKER_APPROVAL_WINDOW_S: Annotated[
    int, "Seconds in which a planned operation can be approved and started."
] = 14_400

# The syntax of address setting patterns: see broker/formats/wildcards.py.
BROKER_WILDCARD_DELIMITER: Annotated[str, "Between the words of an address."] = "."
BROKER_WILDCARD_ANY_WORDS: Annotated[str, "Matches any number of words."] = "#"
BROKER_WILDCARD_SINGLE_WORD: Annotated[str, "Matches one word."] = "*"
BROKER_LITERAL_MATCH_MARKERS: Annotated[
    str, "Two characters around a pattern that is taken literally; empty: none."
] = ""

BROKER_AMQP_HOST: Annotated[str, "Where the AMQP listener listens."] = "127.0.0.1"
BROKER_AMQP_PORT: Annotated[int, "Its port; by default 5672."]
BROKER_AMQP_PORT_IS_FIXED: Annotated[
    bool, "Whether the next free port will not do; by default, if a port is set."
]
BROKER_AMQPS_PORT: Annotated[int, "Its port for TLS, used with a certificate."] = 5671
BROKER_AMQP_CERTIFICATE: Annotated[str, "PEM file of its certificate."] = ""
BROKER_AMQP_KEY: Annotated[str, "PEM file of the certificate's key."] = ""
BROKER_AMQP_CLIENT_CA: Annotated[str, "PEM file: who signs clients' certificates."] = ""
BROKER_AMQP_AUTHENTICATION_BACKENDS: Annotated[
    list[str], "Backends that check passwords of AMQP clients, without a request."
] = ["django.contrib.auth.backends.ModelBackend"]
BROKER_AMQP_PLAIN_WITHOUT_TLS: Annotated[
    bool | None, "Whether passwords may come without TLS; None: from this machine."
] = None
BROKER_AMQP_SCRAM: Annotated[
    bool | None,
    "Whether SCRAM is offered; None: only where PLAIN is not. SCRAM works for"
    " credentials only, and clients that are offered SCRAM use nothing else.",
] = None
BROKER_AMQP_CBS: Annotated[
    bool,
    "Whether clients of Azure Service Bus may log in with tokens. Whoever reads the"
    " credentials in the database can then make tokens.",
] = False

# Limits of clients per listening process: see broker/amqp/limits.py.
BROKER_AMQP_MAX_CONNECTIONS: Annotated[int, "Connections at once."] = 10_000
BROKER_AMQP_MAX_CONNECTIONS_PER_USER: Annotated[int, "The same of one user."] = 4000
BROKER_AMQP_MAX_CONNECTIONS_PER_HOST: Annotated[int, "The same of one address."] = 4000
BROKER_AMQP_MAX_BEFORE_LOGIN: Annotated[int, "Connections that log in at once."] = 200
BROKER_AMQP_MAX_BEFORE_LOGIN_PER_HOST: Annotated[int, "The same of one address."] = 100
BROKER_AMQP_LOGIN_TIMEOUT_S: Annotated[float, "Seconds until the open."] = 10.0
BROKER_AMQP_LOGIN_BYTES: Annotated[int, "Bytes that may come before the login."] = 8192
BROKER_AMQP_MAX_LOGIN_FAILURES_PER_HOST: Annotated[
    int, "Wrong passwords in a minute before an address is refused."
] = 100
BROKER_AMQP_MAX_LOGIN_FAILURES_PER_NAME: Annotated[
    int, "Wrong passwords in a minute before a name is refused."
] = 10
BROKER_AMQP_MAX_SESSIONS: Annotated[int, "Sessions of a connection."] = 256
BROKER_AMQP_MAX_ENDPOINTS: Annotated[int, "Links of a connection."] = 1024
BROKER_AMQP_MAX_FRAME_BYTES: Annotated[int, "The largest frame."] = 65_536
BROKER_AMQP_IDLE_TIMEOUT_S: Annotated[
    float, "Seconds of silence after which a connection is closed."
] = 120.0
BROKER_AMQP_MAX_IN_FLIGHT: Annotated[int, "Unsettled deliveries of a client."] = 2000
BROKER_AMQP_MAX_IN_FLIGHT_BYTES: Annotated[int, "Their bytes."] = 64 * 2**20
BROKER_AMQP_MAX_PARTIAL_BYTES: Annotated[
    int, "Bytes of unfinished transfers; by default, a message and 1 MiB."
]
BROKER_AMQP_MAX_UNSENT_BYTES: Annotated[int, "Bytes that wait to be sent."] = 2**20
BROKER_AMQP_PUT_CREDIT: Annotated[int, "Credit of a link that puts."] = 400
BROKER_AMQP_MAX_TRANSACTION_MESSAGES: Annotated[
    int, "By default BROKER_MAX_UNCOMMITTED_MESSAGES."
]
BROKER_AMQP_MAX_TRANSACTION_BYTES: Annotated[
    int, "By default BROKER_MAX_UNCOMMITTED_BYTES."
]
BROKER_AMQP_MAX_TRANSACTION_AGE_S: Annotated[
    float, "By default BROKER_TRANSACTION_TIMEOUT_S."
]

BACKOUT_SECRET_KEYS: Annotated[
    list[str],
    "Fernet keys: the first encrypts passwords for other brokers, all decrypt.",
] = []
BACKOUT_TRANSFORMERS: Annotated[
    list[str], "Modules with transformers, beside those of installed applications."
] = []
BRIDGE_DUPLICATES_KEPT_S: Annotated[
    float, "Seconds for which links keep message ids, to detect duplicates."
] = 7 * 86400.0
BRIDGE_DUPLICATES_KEPT: Annotated[int, "Message ids kept for each link."] = 1_000_000
