"""Bridges, their links, and how each is doing. Before the deploy."""

from __future__ import annotations

import broker.models.bridge_names
import django.core.validators
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("broker", "0015_queues_are_described"),
    ]

    operations = [
        migrations.CreateModel(
            name="BridgeProcess",
            fields=[
                ("owner_id", models.IntegerField(primary_key=True, serialize=False)),
                ("heartbeat_at", models.DateTimeField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="Link",
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
                    "name",
                    models.CharField(
                        max_length=100,
                        validators=[broker.models.bridge_names.check_name],
                    ),
                ),
                ("key", models.UUIDField(default=uuid.uuid4, editable=False)),
                (
                    "description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "enabled",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Without it the link cannot be started; with it, the bridge process starts it.",
                    ),
                ),
                (
                    "transacted",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Once and only once: source and target are one transaction.",
                    ),
                ),
                (
                    "source_description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "selector",
                    models.TextField(
                        blank=True,
                        default="",
                        help_text="Only messages that this selector matches.",
                    ),
                ),
                (
                    "durable_name",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="durable-sub: of a durable subscription to a topic.",
                        max_length=255,
                    ),
                ),
                (
                    "source_client_id",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="clientid of the source",
                        max_length=255,
                    ),
                ),
                (
                    "target_description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "stay_connected",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="The connection to the target stays open while nothing is sent.",
                    ),
                ),
                (
                    "target_client_id",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="clientid of the target",
                        max_length=255,
                    ),
                ),
                (
                    "retain_reply_to",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="JMSReplyTo is kept (retain-replyto).",
                    ),
                ),
                (
                    "transformer",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The name of a message transformer (message-transformer-class).",
                        max_length=255,
                    ),
                ),
                (
                    "properties",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="What the transformer gets: texts by name.",
                    ),
                ),
                (
                    "transformer_time_limit_s",
                    models.FloatField(
                        blank=True,
                        help_text="Seconds that the transformer may take for one message; it then runs in a process of its own. Empty: no limit.",
                        null=True,
                        validators=[
                            django.core.validators.MinValueValidator(
                                0.01, "Give a time above 0."
                            )
                        ],
                    ),
                ),
                (
                    "transform_failure",
                    models.CharField(
                        choices=[
                            ("4.4", "4.4: a dead message, and it goes on as it was"),
                            (
                                "4.4u1",
                                "4.4u1: the link stops, unless the message is consumed",
                            ),
                        ],
                        db_default="4.4u1",
                        default="4.4u1",
                        max_length=5,
                    ),
                ),
                (
                    "consume_on_transform_error",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="By 4.4u1: a message whose transformer failed goes to the dead message queue, and the link goes on (consume-no-transfer-on-transform-error).",
                    ),
                ),
                (
                    "on_send_failure",
                    models.CharField(
                        choices=[
                            ("dmq-and-ack", "one dead message, and the link goes on"),
                            (
                                "dmq-and-retry",
                                "a dead message for each try; the sixth stops the link",
                            ),
                        ],
                        db_default="dmq-and-ack",
                        default="dmq-and-ack",
                        max_length=13,
                    ),
                ),
                (
                    "duplicate_detection",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Without transactions, into this broker: a message that the source gives a second time is recognised by its id, and is not stored again.",
                    ),
                ),
                (
                    "loop_guard",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="The property x-opt-bridge-path names the links that carried a message. What comes to a link again is a dead message.",
                    ),
                ),
                (
                    "batch",
                    models.PositiveIntegerField(
                        db_default=100,
                        default=100,
                        help_text="Messages that are settled together, at most.",
                        validators=[
                            django.core.validators.MinValueValidator(
                                1, "Give a number from 1."
                            ),
                            django.core.validators.MaxValueValidator(1000),
                        ],
                    ),
                ),
            ],
            options={
                "ordering": ["bridge", "name"],
                "permissions": [
                    (
                        "operate_link",
                        "Can start, pause, resume and stop links of bridges",
                    ),
                    (
                        "decide_branch",
                        "Can end transactions of links that are in doubt",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Bridge",
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
                    "name",
                    models.CharField(
                        max_length=100,
                        validators=[broker.models.bridge_names.check_name],
                    ),
                ),
                (
                    "description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "tag_messages",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="Each message gets the property JMS_SUN_JMSBRIDGE_NAME with the name of the bridge (message-transfer-tag-bridge-name). A selector on it stops loops.",
                    ),
                ),
                (
                    "log_transfers",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Each transfer is one line of the log (log-message-transfer).",
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(models.F("name"), name="one_bridge_a_name")
                ],
            },
        ),
        migrations.CreateModel(
            name="BridgeDestination",
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
                    "ref_name",
                    models.CharField(
                        help_text="ref-name",
                        max_length=100,
                        validators=[broker.models.bridge_names.check_name],
                    ),
                ),
                (
                    "description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="Its name at the provider.", max_length=255
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("queue", "Queue"), ("topic", "Topic")],
                        default="queue",
                        help_text="type",
                        max_length=5,
                    ),
                ),
                (
                    "lookup_name",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="lookup-name: of a JNDI repository; kept for the document only.",
                        max_length=255,
                    ),
                ),
                ("properties", models.JSONField(blank=True, default=dict)),
                (
                    "bridge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="destinations",
                        to="broker.bridge",
                    ),
                ),
            ],
            options={
                "verbose_name": "destination",
                "ordering": ["bridge", "ref_name"],
            },
        ),
        migrations.CreateModel(
            name="ConnectionFactory",
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
                    "name",
                    models.CharField(
                        help_text="ref-name",
                        max_length=100,
                        validators=[broker.models.bridge_names.check_name],
                    ),
                ),
                (
                    "description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "provider",
                    models.CharField(
                        help_text="Which kind of provider; this-broker needs no URL.",
                        max_length=20,
                    ),
                ),
                (
                    "url",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="Such as stomp://host:61613.",
                        max_length=500,
                    ),
                ),
                ("username", models.CharField(blank=True, default="", max_length=255)),
                ("secret", models.TextField(blank=True, default="", editable=False)),
                (
                    "properties",
                    models.JSONField(
                        blank=True,
                        default=dict,
                        help_text="More that it needs: texts by name.",
                    ),
                ),
                (
                    "lookup_name",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="lookup-name: of a JNDI repository; kept for the document only.",
                        max_length=255,
                    ),
                ),
                (
                    "connect_attempts",
                    models.IntegerField(
                        db_default=-1,
                        default=-1,
                        help_text="How often a connection is tried until the link stops; -1: for ever.",
                        validators=[
                            django.core.validators.MinValueValidator(
                                -1, "Give -1 to try for ever, or a number from 0."
                            )
                        ],
                    ),
                ),
                (
                    "connect_interval_s",
                    models.PositiveIntegerField(
                        db_default=5,
                        default=5,
                        help_text="Seconds between two tries (connect-attempt-interval-in-seconds).",
                    ),
                ),
                (
                    "idle_timeout_s",
                    models.PositiveIntegerField(
                        db_default=1800,
                        default=1800,
                        help_text="Seconds without a message after which a connection is closed that need not stay open; 0: never (idle-timeout-in-seconds).",
                    ),
                ),
                (
                    "multi_rm",
                    models.BooleanField(
                        db_default=False,
                        default=False,
                        help_text="multi-rm: kept for the document; here each factory is one resource manager.",
                    ),
                ),
                (
                    "bridge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="factories",
                        to="broker.bridge",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "connection factories",
                "ordering": ["bridge", "name"],
            },
        ),
        migrations.CreateModel(
            name="DeadMessageQueue",
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
                    "name",
                    models.CharField(
                        max_length=100,
                        validators=[broker.models.bridge_names.check_name],
                    ),
                ),
                (
                    "description",
                    models.TextField(blank=True, db_default="", default=""),
                ),
                (
                    "position",
                    models.PositiveIntegerField(
                        db_default=0,
                        default=0,
                        help_text="They are tried from the lowest on.",
                    ),
                ),
                ("enabled", models.BooleanField(db_default=True, default=True)),
                ("stay_connected", models.BooleanField(db_default=True, default=True)),
                (
                    "time_to_live_ms",
                    models.PositiveBigIntegerField(
                        db_default=0,
                        default=0,
                        help_text="Of what is sent there; 0: for ever (time-to-live-in-millis).",
                    ),
                ),
                ("client_id", models.CharField(blank=True, default="", max_length=255)),
                (
                    "send_attempts",
                    models.PositiveIntegerField(
                        db_default=3,
                        default=3,
                        help_text="Exactly so many tries (send-attempts).",
                        validators=[
                            django.core.validators.MinValueValidator(
                                1, "Give a number from 1."
                            )
                        ],
                    ),
                ),
                (
                    "send_interval_s",
                    models.PositiveIntegerField(
                        db_default=5,
                        default=5,
                        help_text="Seconds between two (send-attempt-interval-in-seconds).",
                    ),
                ),
                (
                    "transformer",
                    models.CharField(blank=True, default="", max_length=255),
                ),
                ("properties", models.JSONField(blank=True, default=dict)),
                (
                    "bridge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="dead_queues",
                        to="broker.bridge",
                    ),
                ),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="dead_queue_of",
                        to="broker.bridgedestination",
                    ),
                ),
                (
                    "factory",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="dead_queue_of",
                        to="broker.connectionfactory",
                    ),
                ),
            ],
            options={
                "ordering": ["bridge", "position", "id"],
            },
        ),
        migrations.CreateModel(
            name="LinkStatus",
            fields=[
                (
                    "link",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="status",
                        serialize=False,
                        to="broker.link",
                    ),
                ),
                (
                    "wanted",
                    models.CharField(
                        blank=True, db_default="", default="", max_length=13
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("UNINITIALIZED", "not started yet"),
                            ("STARTING", "starting"),
                            ("STARTED", "running"),
                            ("PAUSING", "pausing"),
                            ("PAUSED", "paused"),
                            ("STOPPING", "stopping"),
                            ("STOPPED", "stopped"),
                        ],
                        db_default="UNINITIALIZED",
                        default="UNINITIALIZED",
                        max_length=13,
                    ),
                ),
                ("epoch", models.BigIntegerField(db_default=0, default=0)),
                ("owner_id", models.IntegerField(null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("changed_at", models.DateTimeField(null=True)),
                ("batch_number", models.BigIntegerField(db_default=0, default=0)),
                ("failures", models.IntegerField(db_default=0, default=0)),
                ("error", models.TextField(db_default="", default="")),
                ("error_at", models.DateTimeField(null=True)),
                ("last_transfer_at", models.DateTimeField(null=True)),
                ("waiting", models.BigIntegerField(null=True)),
                ("oldest_at", models.DateTimeField(null=True)),
                ("looked_at", models.DateTimeField(null=True)),
                ("received", models.BigIntegerField(db_default=0, default=0)),
                ("duplicates", models.BigIntegerField(db_default=0, default=0)),
                ("looped", models.BigIntegerField(db_default=0, default=0)),
                ("expired", models.BigIntegerField(db_default=0, default=0)),
                ("transformed", models.BigIntegerField(db_default=0, default=0)),
                ("not_transferred", models.BigIntegerField(db_default=0, default=0)),
                ("branched", models.BigIntegerField(db_default=0, default=0)),
                ("sent", models.BigIntegerField(db_default=0, default=0)),
                ("dead", models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AddField(
            model_name="link",
            name="bridge",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="links",
                to="broker.bridge",
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="source_of",
                to="broker.bridgedestination",
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="source_factory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="source_of",
                to="broker.connectionfactory",
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="target",
            field=models.ForeignKey(
                blank=True,
                help_text="Empty is AS_SOURCE: the destination that the message came from.",
                null=True,
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="target_of",
                to="broker.bridgedestination",
            ),
        ),
        migrations.AddField(
            model_name="link",
            name="target_factory",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.RESTRICT,
                related_name="target_of",
                to="broker.connectionfactory",
            ),
        ),
        migrations.CreateModel(
            name="Branch",
            fields=[
                (
                    "xid",
                    models.CharField(max_length=200, primary_key=True, serialize=False),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            (
                                "decided",
                                "committed here; to be committed at the other provider",
                            ),
                            (
                                "prepared",
                                "prepared here; the marker at the other provider decides",
                            ),
                        ],
                        max_length=8,
                    ),
                ),
                ("messages", models.PositiveIntegerField()),
                ("detail", models.JSONField(default=dict)),
                ("began_at", models.DateTimeField()),
                (
                    "link",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="branches",
                        to="broker.link",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "branches",
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="SeenMessage",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "link_id",
                        "message_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("message_id", models.TextField()),
                ("seen_at", models.DateTimeField()),
                (
                    "link",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="broker.link",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.AddConstraint(
            model_name="bridgedestination",
            constraint=models.UniqueConstraint(
                models.F("bridge"), models.F("ref_name"), name="one_destination_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="connectionfactory",
            constraint=models.UniqueConstraint(
                models.F("bridge"), models.F("name"), name="one_factory_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="deadmessagequeue",
            constraint=models.UniqueConstraint(
                models.F("bridge"), models.F("name"), name="one_dead_queue_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="link",
            constraint=models.UniqueConstraint(
                models.F("bridge"), models.F("name"), name="one_link_a_name"
            ),
        ),
        migrations.AddConstraint(
            model_name="link",
            constraint=models.UniqueConstraint(models.F("key"), name="one_link_a_key"),
        ),
        migrations.AddIndex(
            model_name="seenmessage",
            index=models.Index(
                fields=["link", "seen_at"], name="seen_by_link_and_time"
            ),
        ),
    ]
