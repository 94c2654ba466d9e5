"""A plug-in of the program ``celery``, so that its commands know ``backout://``."""

from __future__ import annotations

import click

from broker.management import celery_scheme

celery_scheme.register()


@click.command("backout", hidden=True)
def command() -> None:
    """Say where ``backout://`` leads to."""
    click.echo(celery_scheme.transport())
