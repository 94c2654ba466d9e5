"""The counters section of a queue's page."""

from __future__ import annotations

from django import template

from console.queues.counters import counters_of

register = template.Library()
register.simple_tag(counters_of)
