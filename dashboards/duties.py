"""What the dispatchers do for pages where no worker of Celery runs."""

from __future__ import annotations

from django.conf import settings

from broker.housekeeping.work import Duty
from dashboards.live import publisher

DUTIES = (Duty(publisher.publish, lambda: settings.REDIS_URL and publisher.is_due()),)
