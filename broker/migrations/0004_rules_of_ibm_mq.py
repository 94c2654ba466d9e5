"""What IBM MQ's rules need: thresholds, models, subscriptions, authorities, the bin.

Before the deploy.
"""

from pathlib import Path
from typing import Any

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime

from django.conf import settings
from django.db import migrations, models

import broker.formats.wildcards

ENGINE = Path(__file__).parent / "sql" / "ibm_mq.sql"
BACK = """
DROP TABLE broker_discarded;
DROP TABLE broker_prepared_put;
ALTER TABLE broker_dead_letter DROP COLUMN reason;
ALTER TABLE broker_unit_of_work DROP COLUMN xid;
ALTER TABLE broker_message DROP COLUMN descriptor, DROP COLUMN headers;
"""


def make_models(apps: Any, _: Any) -> None:
    """The model queues that topics name where nobody said another."""
    models = apps.get_model("broker", "ModelQueue").objects
    models.get_or_create(
        name="SYSTEM.DURABLE.MODEL.QUEUE", defaults={"permanent": True}
    )
    models.get_or_create(name="SYSTEM.NDURABLE.MODEL.QUEUE")


EVERY = {"empty_discard_bin": 60}  # seconds


def schedule(apps: Any, _: Any) -> None:
    intervals = apps.get_model("django_celery_beat", "IntervalSchedule").objects
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
    for name, seconds in EVERY.items():
        every, _created = intervals.get_or_create(every=seconds, period="seconds")
        periodic.update_or_create(
            name=f"broker: {name.replace('_', ' ')}",
            defaults={
                "task": f"broker.tasks.{name}",
                "interval": every,
                "expire_seconds": max(seconds, 2),
            },
        )


def unschedule(apps: Any, _: Any) -> None:
    periodic = apps.get_model("django_celery_beat", "PeriodicTask").objects
    periodic.filter(task__in=[f"broker.tasks.{name}" for name in EVERY]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("broker", "0003_housekeeping_is_scheduled"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL(ENGINE.read_text(), BACK),
        migrations.CreateModel(
            name="Discarded",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "message_id",
                        "queue_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("message_id", models.BigIntegerField()),
                ("queue_id", models.IntegerField()),
                ("queue", models.TextField()),
                ("discarded_at", models.DateTimeField()),
                ("keep_until", models.DateTimeField()),
                ("reason", models.IntegerField(null=True)),
                ("why", models.TextField()),
                ("priority", models.SmallIntegerField()),
                ("backout_count", models.IntegerField()),
                ("delivery_count", models.IntegerField()),
                ("expires_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "broker_discarded",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="PreparedPut",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "uow",
                        "ord",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("uow", models.BigIntegerField()),
                ("ord", models.IntegerField()),
                ("fields", models.JSONField()),
                ("body", models.BinaryField()),
                ("headers", models.BinaryField(null=True)),
            ],
            options={
                "db_table": "broker_prepared_put",
                "managed": False,
            },
        ),
        migrations.CreateModel(
            name="Authority",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "pattern",
                    models.CharField(
                        default="#",
                        help_text="Words separated by dots; * is any one word, # at the end any words.",
                        max_length=255,
                        validators=[broker.formats.wildcards.check_pattern],
                    ),
                ),
                (
                    "may_inquire",
                    models.BooleanField(default=False, verbose_name="inquire"),
                ),
                (
                    "may_browse",
                    models.BooleanField(default=False, verbose_name="browse"),
                ),
                ("may_get", models.BooleanField(default=False, verbose_name="get")),
                ("may_put", models.BooleanField(default=False, verbose_name="put")),
                (
                    "may_pass_all",
                    models.BooleanField(default=False, verbose_name="passall"),
                ),
                ("may_set", models.BooleanField(default=False, verbose_name="set")),
            ],
            options={
                "verbose_name_plural": "authorities",
                "ordering": ["pattern", "id"],
            },
        ),
        migrations.CreateModel(
            name="ConnectionConsumer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("owner_id", models.IntegerField()),
                ("handler", models.TextField()),
                ("selector", models.TextField(blank=True)),
                ("retains_unwanted", models.BooleanField(default=True)),
                ("server_sessions", models.IntegerField()),
                (
                    "started_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModelQueue",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "backout_threshold",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Backouts after which consumers move a message away (BOTHRESH); 0 is never.",
                        validators=[
                            django.core.validators.MaxValueValidator(999999999)
                        ],
                    ),
                ),
                (
                    "backout_queue",
                    models.CharField(
                        blank=True,
                        db_default="",
                        default="",
                        help_text="The queue it is moved to (BOQNAME).",
                        max_length=255,
                    ),
                ),
                (
                    "max_depth",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Messages it can hold (MAXDEPTH); empty is no limit.",
                        null=True,
                    ),
                ),
                (
                    "max_message_bytes",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Of body and headers (MAXMSGL); empty is the broker's own limit.",
                        null=True,
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                (
                    "permanent",
                    models.BooleanField(
                        default=False,
                        help_text="Queues made from it outlive the client that asked for them.",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="QueueAlias",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("name", models.CharField(max_length=255)),
                (
                    "target",
                    models.CharField(
                        help_text="The queue or address that is meant.", max_length=255
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "queue aliases",
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="Stoppage",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("message_id", models.BigIntegerField()),
                ("reason", models.IntegerField()),
                ("why", models.TextField()),
                (
                    "stopped_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
                ("cleared_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("client_id", models.CharField(blank=True, max_length=255)),
                ("name", models.CharField(blank=True, max_length=255)),
                ("durable", models.BooleanField()),
                ("owner_id", models.IntegerField(null=True)),
                (
                    "created_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now()
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="address",
            name="durable_model",
            field=models.CharField(
                db_default="SYSTEM.DURABLE.MODEL.QUEUE",
                default="SYSTEM.DURABLE.MODEL.QUEUE",
                help_text="The model queue of durable subscriptions (MDURMDL).",
                max_length=255,
            ),
        ),
        migrations.AddField(
            model_name="address",
            name="nondurable_model",
            field=models.CharField(
                db_default="SYSTEM.NDURABLE.MODEL.QUEUE",
                default="SYSTEM.NDURABLE.MODEL.QUEUE",
                help_text="The model queue of other subscriptions (MNDURMDL).",
                max_length=255,
            ),
        ),
        migrations.AddField(
            model_name="addresssetting",
            name="discard_retention_s",
            field=models.BigIntegerField(
                blank=True,
                help_text="How long a discarded message can be restored; 0 is not at all.",
                null=True,
                validators=[django.core.validators.MinValueValidator(0)],
            ),
        ),
        migrations.AddField(
            model_name="addresssetting",
            name="poison_policy",
            field=models.CharField(
                blank=True,
                choices=[
                    ("artemis", "the broker, at the last backout"),
                    ("ibm", "the consumer, at the next get (BOTHRESH)"),
                    ("both", "whichever comes first"),
                    ("none", "nobody"),
                ],
                help_text="Not defined: ibm where the queue has a threshold, else artemis.",
                max_length=8,
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="backout_queue",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="The queue it is moved to (BOQNAME).",
                max_length=255,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="backout_threshold",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="Backouts after which consumers move a message away (BOTHRESH); 0 is never.",
                validators=[django.core.validators.MaxValueValidator(999999999)],
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_depth",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Messages it can hold (MAXDEPTH); empty is no limit.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="max_message_bytes",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Of body and headers (MAXMSGL); empty is the broker's own limit.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="put_inhibited",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="A put-inhibited queue gives messages and takes none.",
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="selector",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="The queue takes only messages that this selector matches.",
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="harden_backout",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Backout counts outlive a restart of the broker (HARDENBO).",
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="kind",
            field=models.PositiveSmallIntegerField(
                choices=[(1, "local"), (2, "managed"), (3, "temporary")],
                db_default=1,
                default=1,
                editable=False,
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="stopped",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="No ConnectionConsumer gets anything; see its stoppage.",
            ),
        ),
        migrations.AddConstraint(
            model_name="queue",
            constraint=models.CheckConstraint(
                condition=models.Q(("backout_threshold__lte", 999999999)),
                name="thresholds_have_nine_digits",
            ),
        ),
        migrations.AddField(
            model_name="authority",
            name="group",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to="auth.group",
            ),
        ),
        migrations.AddField(
            model_name="authority",
            name="user",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="connectionconsumer",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="consumers",
                to="broker.queue",
            ),
        ),
        migrations.AddConstraint(
            model_name="modelqueue",
            constraint=models.UniqueConstraint(
                models.F("name"), name="one_model_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="queuealias",
            constraint=models.UniqueConstraint(
                models.F("name"), name="one_alias_a_name"
            ),
        ),
        migrations.AddField(
            model_name="stoppage",
            name="user",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="stoppage",
            name="cleared_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="stoppage",
            name="queue",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="stoppages",
                to="broker.queue",
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="address",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="subscriptions",
                to="broker.address",
            ),
        ),
        migrations.AddField(
            model_name="subscription",
            name="queue",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="subscription",
                to="broker.queue",
            ),
        ),
        migrations.AddField(
            model_name="queue",
            name="guarded",
            field=models.GeneratedField(
                db_persist=True,
                expression=models.Q(  # type: ignore[arg-type]
                    ("put_inhibited", True),
                    ("max_depth__isnull", False),
                    ("max_message_bytes__isnull", False),
                    models.Q(("selector", ""), _negated=True),
                    _connector="OR",
                ),
                output_field=models.BooleanField(),
            ),
        ),
        migrations.AddConstraint(
            model_name="authority",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("user__isnull", True), ("group__isnull", True), _connector="XOR"
                ),
                name="authorities_are_of_a_user_or_a_group",
            ),
        ),
        migrations.AddConstraint(
            model_name="authority",
            constraint=models.UniqueConstraint(
                models.F("user"),
                models.F("group"),
                models.F("pattern"),
                name="one_authority_a_principal_and_pattern",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="stoppage",
            constraint=models.UniqueConstraint(
                models.F("queue"),
                condition=models.Q(("cleared_at__isnull", True)),
                name="one_open_stoppage_a_queue",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                models.F("client_id"),
                models.F("name"),
                condition=models.Q(("durable", True)),
                name="one_durable_subscription_a_name",
            ),
        ),
        migrations.RunPython(make_models, migrations.RunPython.noop),
        migrations.RunPython(schedule, unschedule),
    ]
