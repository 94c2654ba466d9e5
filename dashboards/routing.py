"""The sockets that pages open."""

from __future__ import annotations

from django.urls import path

from dashboards.live.consumers import DepthsConsumer

urlpatterns = [path("ws/depths/", DepthsConsumer.as_asgi())]
