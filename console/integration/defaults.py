"""The settings of the console in any project: type, purpose, default.

They are set as those of the broker are (``broker/config/django_settings.py``). The
project that the console is by itself (``console/settings.py``) has values of its own.
"""

from __future__ import annotations

from typing import Annotated, Any

BACKOUT_ENVIRONMENT: Annotated[
    str, "The word on every page: dev, stage and prod have a colour of their own."
] = "dev"
BACKOUT_CELERY_APP: Annotated[
    str,
    "The Celery application that runs the tasks, as for celery -A; console is the"
    " console's own. Empty: the dispatchers do the housekeeping, and no report runs.",
] = ""
BACKOUT_ARCHIVE: Annotated[
    str,
    "Folder of the reports' archive, or its URI in an object store or HDFS, as"
    " s3://bucket/path. Empty: reports in VAR_DIR.",
] = ""
BACKOUT_REPORTS_DUE_HOUR: Annotated[
    int,
    "Hour of the day (UTC) by which the reports of the night should be done; after it"
    " the alert reports-late fires. Negative: never.",
] = 6
BACKOUT_REPORTS_NICE: Annotated[
    int,
    "Nice value of the reports worker and of Spark, 1 to 19. 19: they get only what"
    " nobody else wants. 10: beside one busy process about a tenth of a processor.",
] = 19
BACKOUT_REPORTS_SPARK_CONF: Annotated[
    str,
    "Settings of Spark, as key=value,key=value or a JSON object; they count before"
    " those of the reports and those of spark-defaults.conf.",
] = ""
BACKOUT_ROLE_PREFIX: Annotated[
    str, "What the names of the groups viewer, auditor, operator and so on begin with."
] = "backout-"
BACKOUT_METRICS_TOKEN: Annotated[
    str, "Token for /metrics; empty: only clients on this machine get metrics."
] = ""
BACKOUT_TRACE_URL: Annotated[
    str,
    "URL of a trace in your tool for traces, with {trace_id}, to which the page of a"
    " message links.",
] = ""
BACKOUT_API_REQUESTS_PER_MINUTE: Annotated[
    int, "Requests to the REST API that a client may send in a minute; 0: any number."
] = 0
BACKOUT_OPENAPI_IS_PUBLIC: Annotated[
    bool, "Whether the API's description can be read by anybody, without signing in."
] = False
BACKOUT_TRUSTED_PROXIES: Annotated[
    list[str], "Proxies whose header X-Forwarded-For is trusted: addresses, networks."
] = []
BACKOUT_SECOND_FACTOR_GROUPS: Annotated[
    list[str],
    "Groups whose members must have a second factor; superusers, or * for everybody."
    " Only with django-allauth's allauth.mfa.",
] = []
BACKOUT_SESSION_IDLE_S: Annotated[
    int, "Seconds after which an idle session ends, if SESSION_ENGINE is the console's."
] = 1800
BACKOUT_SESSION_LONGEST_S: Annotated[int, "The longest duration of such a session."] = (
    43_200
)


def channel_layers(settings: Any) -> dict[str, Any]:
    """Channels between processes: Redis, if there is one; or else pages ask.

    A web socket waits for messages from Redis, sometimes for hours. The default timeout
    of five seconds would end the wait, and hides cancellations in Python 3.11. So there
    is no timeout, and the consumers of sockets check themselves whether Redis answers.
    """
    if not settings.REDIS_URL:
        return {}
    hosts = [{"address": settings.REDIS_URL, "socket_timeout": None}]
    layer = "channels_redis.core.RedisChannelLayer"
    return {"default": {"BACKEND": layer, "CONFIG": {"hosts": hosts}}}


FOLLOWING = {"CHANNEL_LAYERS": channel_layers}  # defaults that depend on other settings
