"""Bindings of queues to exchanges, as Celery declares them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("broker", "0011_reports_may_be_late")]

    operations = [
        migrations.CreateModel(
            name="Binding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("exchange", models.CharField(max_length=255)),
                ("kind", models.TextField(choices=[("direct", "Direct"), ("topic", "Topic"), ("fanout", "Fanout")])),
                ("routing_key", models.CharField(blank=True, max_length=255)),
                ("queue", models.ForeignKey(on_delete=models.CASCADE, related_name="bindings", to="broker.queue")),
            ],
            options={
                "default_permissions": (),
                "constraints": [
                    models.UniqueConstraint(models.F("exchange"), models.F("routing_key"), models.F("queue"), name="a_queue_is_bound_once_by_a_key"),
                ],
            },
        ),
    ]
