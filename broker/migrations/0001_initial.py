"""All tables of the broker, and what stands in them from the start.

The hot tables, and the functions and triggers of the audit, are SQL of their own. It is
a copy: ``broker/sql/schema.sql`` follows the code, this does not.
"""

from pathlib import Path
from typing import Any

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models


SQL = Path(__file__).parent / "sql"
HOT_TABLES = (SQL / "0001_hot_tables.sql").read_text()
AUDIT = (SQL / "0001_audit.sql").read_text()
TABLES = (
    *("message", "ready", "delayed", "owner", "unit_of_work", "prepared_put", "claim"),
    *("dead_letter", "discarded", "event", "tally"),
)
SEQUENCES = ("message_id_seq", "unit_of_work_id_seq", "owner_id_seq", "event_seq")
DROP_HOT_TABLES = "".join(
    [f"DROP TABLE broker_{one};" for one in TABLES]
    + [f"DROP SEQUENCE broker_{one};" for one in SEQUENCES]
)
DROP_AUDIT = """
    DROP TRIGGER audit_is_chained ON broker_audit;
    DROP TRIGGER audit_is_kept ON broker_audit;
    DROP TRIGGER audit_is_not_emptied ON broker_audit;
    DROP FUNCTION broker_audit_chain;
    DROP FUNCTION broker_audit_keep;
    DROP FUNCTION broker_audit_hash;
"""


def fill(apps: Any, editor: Any) -> None:
    """The journal's own reader, and the model queues that topics name by default."""
    using = editor.connection.alias
    apps.get_model("broker", "Watermark").objects.using(using).get_or_create(reader="tally")
    models = apps.get_model("broker", "ModelQueue").objects.using(using)
    models.get_or_create(
        name="SYSTEM.DURABLE.MODEL.QUEUE", defaults={"permanent": True}
    )
    models.get_or_create(name="SYSTEM.NDURABLE.MODEL.QUEUE")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Claim',
            fields=[
                ('pk', models.CompositePrimaryKey('uow', 'claim_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('uow', models.BigIntegerField()),
                ('claim_id', models.IntegerField()),
                ('queue_id', models.IntegerField()),
                ('claimed_at', models.DateTimeField()),
                ('ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('priorities', django.contrib.postgres.fields.ArrayField(base_field=models.SmallIntegerField(), size=None)),
                ('backout_counts', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('delivery_counts', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ('expiries', django.contrib.postgres.fields.ArrayField(base_field=models.DateTimeField(null=True), size=None)),
            ],
            options={
                'db_table': 'broker_claim',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='DeadLetter',
            fields=[
                ('pk', models.CompositePrimaryKey('message_id', 'queue_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('message_id', models.BigIntegerField()),
                ('queue_id', models.IntegerField()),
                ('cause', models.TextField(choices=[('MAX_DELIVERY_ATTEMPTS', 'delivery attempts used up'), ('EXPIRED', 'expired'), ('REJECTED', 'rejected by its consumer'), ('OPERATOR', 'sent here by an operator'), ('NO_ROUTE', 'no queue took it'), ('BACKOUT_THRESHOLD', 'backout threshold reached'), ('MALFORMED', 'its headers cannot be read'), ('UNWANTED', "no consumer's selector matches it"), ('REPORT', 'a report that its reader could not take'), ('LINK', 'a link of a bridge could not carry it')])),
                ('reason', models.IntegerField(null=True)),
                ('error', models.TextField()),
                ('fingerprint', models.TextField()),
                ('pattern', models.TextField()),
                ('origin_address', models.TextField()),
                ('origin_queue', models.TextField()),
                ('origin_id', models.BigIntegerField()),
                ('backout_count', models.IntegerField()),
                ('resubmit_count', models.IntegerField()),
                ('died_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'broker_dead_letter',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Delayed',
            fields=[
                ('pk', models.CompositePrimaryKey('id', 'queue_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('queue_id', models.IntegerField()),
                ('id', models.BigIntegerField()),
                ('due_at', models.DateTimeField()),
                ('priority', models.SmallIntegerField()),
                ('backout_count', models.IntegerField()),
                ('delivery_count', models.IntegerField()),
                ('expires_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'broker_delayed',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Discarded',
            fields=[
                ('pk', models.CompositePrimaryKey('message_id', 'queue_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('message_id', models.BigIntegerField()),
                ('queue_id', models.IntegerField()),
                ('queue', models.TextField()),
                ('discarded_at', models.DateTimeField()),
                ('keep_until', models.DateTimeField()),
                ('reason', models.IntegerField(null=True)),
                ('why', models.TextField()),
                ('priority', models.SmallIntegerField()),
                ('backout_count', models.IntegerField()),
                ('delivery_count', models.IntegerField()),
                ('expires_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'broker_discarded',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('seq', models.BigIntegerField(primary_key=True, serialize=False)),
                ('xid', models.BigIntegerField()),
                ('at', models.DateTimeField()),
                ('kind', models.SmallIntegerField(choices=[(1, 'put'), (2, 'got'), (3, 'accepted'), (4, 'backed out'), (5, 'released'), (6, 'due again'), (7, 'dead-lettered'), (8, 'expired'), (9, 'discarded'), (10, 'resubmitted'), (11, 'restored'), (12, 'skipped a backout'), (13, 'counted anew'), (14, 'taken back'), (15, 'reinstated'), (16, 'moved'), (17, 'given another priority'), (18, 'removed'), (19, 'carried by a link')])),
                ('queue_id', models.IntegerField()),
                ('came_from', models.SmallIntegerField(choices=[(1, 'Ready'), (2, 'Claimed'), (3, 'Delayed')], null=True)),
                ('went_to', models.SmallIntegerField(choices=[(1, 'Ready'), (2, 'Claimed'), (3, 'Delayed')], null=True)),
                ('uow', models.BigIntegerField(null=True)),
                ('actor', models.TextField()),
                ('n', models.IntegerField()),
                ('ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('detail', models.JSONField(null=True)),
            ],
            options={
                'db_table': 'broker_event',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('address', models.TextField()),
                ('routing_type', models.SmallIntegerField(null=True)),
                ('put_at', models.DateTimeField()),
                ('priority', models.SmallIntegerField()),
                ('durable', models.BooleanField()),
                ('expires_at', models.DateTimeField(null=True)),
                ('message_id', models.TextField(null=True)),
                ('correlation_id', models.TextField(null=True)),
                ('reply_to', models.TextField(null=True)),
                ('subject', models.TextField(null=True)),
                ('group_id', models.TextField(null=True)),
                ('content_type', models.TextField()),
                ('producer', models.TextField()),
                ('properties', models.JSONField()),
                ('body', models.BinaryField()),
                ('copied_from', models.BigIntegerField(null=True)),
                ('descriptor', models.JSONField(null=True)),
                ('headers', models.BinaryField(null=True)),
                ('envelope', models.BinaryField(null=True)),
            ],
            options={
                'db_table': 'broker_message',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Owner',
            fields=[
                ('id', models.IntegerField(primary_key=True, serialize=False)),
                ('kind', models.TextField()),
                ('host', models.TextField()),
                ('pid', models.IntegerField()),
                ('started_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'broker_owner',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='PreparedPut',
            fields=[
                ('pk', models.CompositePrimaryKey('uow', 'ord', blank=True, editable=False, primary_key=True, serialize=False)),
                ('uow', models.BigIntegerField()),
                ('ord', models.IntegerField()),
                ('fields', models.JSONField()),
                ('body', models.BinaryField()),
                ('headers', models.BinaryField(null=True)),
                ('envelope', models.BinaryField(null=True)),
            ],
            options={
                'db_table': 'broker_prepared_put',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Ready',
            fields=[
                ('pk', models.CompositePrimaryKey('queue_id', 'priority', 'pos', blank=True, editable=False, primary_key=True, serialize=False)),
                ('queue_id', models.IntegerField()),
                ('priority', models.SmallIntegerField()),
                ('pos', models.BigIntegerField()),
                ('id', models.BigIntegerField()),
                ('backout_count', models.IntegerField()),
                ('delivery_count', models.IntegerField()),
                ('expires_at', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'broker_ready',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Tally',
            fields=[
                ('pk', models.CompositePrimaryKey('queue_id', 'kind', 'came_from', 'went_to', blank=True, editable=False, primary_key=True, serialize=False)),
                ('queue_id', models.IntegerField()),
                ('kind', models.SmallIntegerField(choices=[(1, 'put'), (2, 'got'), (3, 'accepted'), (4, 'backed out'), (5, 'released'), (6, 'due again'), (7, 'dead-lettered'), (8, 'expired'), (9, 'discarded'), (10, 'resubmitted'), (11, 'restored'), (12, 'skipped a backout'), (13, 'counted anew'), (14, 'taken back'), (15, 'reinstated'), (16, 'moved'), (17, 'given another priority'), (18, 'removed'), (19, 'carried by a link')])),
                ('came_from', models.SmallIntegerField()),
                ('went_to', models.SmallIntegerField()),
                ('entries', models.BigIntegerField()),
            ],
            options={
                'db_table': 'broker_tally',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='UnitOfWork',
            fields=[
                ('id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('owner_id', models.IntegerField()),
                ('started_at', models.DateTimeField()),
                ('deadline', models.DateTimeField(null=True)),
                ('xid', models.TextField(null=True)),
            ],
            options={
                'db_table': 'broker_unit_of_work',
                'managed': False,
            },
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('resubmit', 'resubmit'), ('move', 'move'), ('copy', 'copy'), ('remove', 'remove'), ('expire', 'expire'), ('dead_letter', 'send to dead letters'), ('priority', 'change the priority'), ('deliver', 'deliver now')], max_length=16)),
                ('state', models.CharField(choices=[('planned', 'Planned'), ('running', 'Running'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='planned', max_length=16)),
                ('scope', models.TextField()),
                ('argument', models.TextField(blank=True, db_default='', default='')),
                ('drops_header', models.BooleanField(db_default=False, default=False)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL)),
                ('undoes', models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='undone_by', to='broker.operation')),
            ],
            options={
                'ordering': ['-id'],
                'permissions': [('approve_operation', 'Can approve what somebody else planned')],
            },
        ),
        migrations.CreateModel(
            name='AuditCheck',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField()),
                ('hash', models.TextField()),
                ('checked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('fault', models.TextField(blank=True, default='')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='BridgeProcess',
            fields=[
                ('owner_id', models.IntegerField(primary_key=True, serialize=False)),
                ('heartbeat_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Link',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('key', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('description', models.TextField(blank=True, db_default='', default='')),
                ('enabled', models.BooleanField(db_default=True, default=True, help_text='If enabled, the bridge process starts the link. A disabled link cannot be started.')),
                ('transacted', models.BooleanField(db_default=True, default=True, help_text='Once and only once: source and target are one transaction.')),
                ('source_description', models.TextField(blank=True, db_default='', default='')),
                ('selector', models.TextField(blank=True, default='', help_text='Transfer only messages that match this selector.')),
                ('durable_name', models.CharField(blank=True, default='', help_text='durable-sub: of a durable subscription to a topic.', max_length=255)),
                ('source_client_id', models.CharField(blank=True, default='', help_text='clientid of the source', max_length=255)),
                ('target_description', models.TextField(blank=True, db_default='', default='')),
                ('stay_connected', models.BooleanField(db_default=True, default=True, help_text='The connection to the target stays open while nothing is sent.')),
                ('target_client_id', models.CharField(blank=True, default='', help_text='clientid of the target', max_length=255)),
                ('retain_reply_to', models.BooleanField(db_default=False, default=False, help_text='Keep JMSReplyTo (retain-replyto).')),
                ('transformer', models.CharField(blank=True, default='', help_text='The name of a message transformer (message-transformer-class).', max_length=255)),
                ('properties', models.JSONField(blank=True, default=dict, help_text='Properties for the transformer: texts by name.')),
                ('transformer_time_limit_s', models.FloatField(blank=True, help_text='Time limit for one message, in seconds. With a limit, the transformer runs in its own process. Empty: no limit.', null=True, validators=[django.core.validators.MinValueValidator(0.01, 'Give a time above 0.')])),
                ('transform_failure', models.CharField(choices=[('4.4', '4.4: a dead message, and it goes on as it was'), ('4.4u1', '4.4u1: the link stops, unless the message is consumed')], db_default='4.4u1', default='4.4u1', max_length=5)),
                ('consume_on_transform_error', models.BooleanField(db_default=False, default=False, help_text='As in Open MQ 4.4u1: a message whose transformer fails goes to the dead message queue, and the link continues (consume-no-transfer-on-transform-error).')),
                ('on_send_failure', models.CharField(choices=[('dmq-and-ack', 'one dead message, and the link goes on'), ('dmq-and-retry', 'a dead message for each try; the sixth stops the link')], db_default='dmq-and-ack', default='dmq-and-ack', max_length=13)),
                ('duplicate_detection', models.BooleanField(db_default=False, default=False, help_text='For a target on this broker without transactions: a message that the source delivers again is recognised by its id and not stored again.')),
                ('loop_guard', models.BooleanField(db_default=True, default=True, help_text='The property x-opt-bridge-path lists the links that have transferred a message. A message that comes to the same link again becomes a dead message.')),
                ('batch', models.PositiveIntegerField(db_default=100, default=100, help_text='The largest number of messages that are settled together.', validators=[django.core.validators.MinValueValidator(1, 'Give a number from 1.'), django.core.validators.MaxValueValidator(1000)])),
            ],
            options={
                'ordering': ['bridge', 'name'],
                'permissions': [('operate_link', 'Can start, pause, resume and stop links of bridges'), ('decide_branch', 'Can end transactions of links that are in doubt')],
            },
        ),
        migrations.CreateModel(
            name='Watermark',
            fields=[
                ('reader', models.CharField(max_length=32, primary_key=True, serialize=False)),
                ('xid', models.BigIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Address',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('durable_model', models.CharField(db_default='SYSTEM.DURABLE.MODEL.QUEUE', default='SYSTEM.DURABLE.MODEL.QUEUE', help_text='The model queue of durable subscriptions (MDURMDL).', max_length=255)),
                ('nondurable_model', models.CharField(db_default='SYSTEM.NDURABLE.MODEL.QUEUE', default='SYSTEM.NDURABLE.MODEL.QUEUE', help_text='The model queue of other subscriptions (MNDURMDL).', max_length=255)),
                ('auto_created', models.BooleanField(db_default=False, default=False, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'verbose_name_plural': 'addresses',
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_address_a_name')],
            },
        ),
        migrations.CreateModel(
            name='AddressSetting',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('match', models.CharField(help_text='Words separated by dots; * matches one word, # at the end matches any number of words.', max_length=255)),
                ('max_delivery_attempts', models.IntegerField(blank=True, help_text='Deliveries before a message becomes a dead letter; -1: no limit. Default: 10.', null=True, validators=[django.core.validators.MinValueValidator(-1, 'This cannot be below -1. Give a number from 1, or -1 for no limit.')])),
                ('dead_letter_address', models.CharField(blank=True, help_text='The address for poison messages, where people can inspect them. Defined but empty: they are discarded.', max_length=255, null=True)),
                ('redelivery_delay_ms', models.BigIntegerField(blank=True, help_text='The time until a backed out message is redelivered, in milliseconds. It gives the client time to recover, and prevents endless immediate redelivery of a message that always fails (thrashing). Other messages are delivered meanwhile. 0: no delay.', null=True, validators=[django.core.validators.MinValueValidator(0, 'This cannot be negative. Give 0 for none.')])),
                ('redelivery_delay_multiplier', models.FloatField(blank=True, help_text='The delay is multiplied by this after each further backout, so that redeliveries to a client that stays down become rarer. 1: constant delay.', null=True)),
                ('redelivery_collision_avoidance_factor', models.FloatField(blank=True, help_text='From 0 to 1: each delay becomes longer or shorter by a random share up to this factor. So consumers that collided on the same resource do not retry at the same time. A larger factor gives a wider spread.', null=True)),
                ('max_redelivery_delay_ms', models.BigIntegerField(blank=True, help_text='The longest delay, in milliseconds. Default: ten times the redelivery delay.', null=True, validators=[django.core.validators.MinValueValidator(0, 'This cannot be negative. Give 0 for none.')])),
                ('expiry_address', models.CharField(blank=True, help_text='The address for expired messages. Defined but empty: they are discarded.', max_length=255, null=True)),
                ('poison_policy', models.CharField(blank=True, choices=[('artemis', 'the broker, at the last backout'), ('ibm', 'the consumer, at the next get (BOTHRESH)'), ('both', 'whichever comes first'), ('none', 'nobody')], help_text='Default: ibm if the queue has a backout threshold, otherwise artemis.', max_length=8, null=True)),
                ('discard_retention_s', models.BigIntegerField(blank=True, help_text='How long a discarded message can be restored, in seconds; 0: not at all.', null=True, validators=[django.core.validators.MinValueValidator(0, 'This cannot be negative. Give 0 for none.')])),
                ('send_to_dla_on_no_route', models.BooleanField(blank=True, help_text='Messages that reach no queue go to the dead letter address instead of being lost.', null=True)),
                ('auto_create_dead_letter_resources', models.BooleanField(blank=True, help_text='The first dead letter creates the dead letter address, and one queue for each address that dead letters come from. So dead letters of different addresses are separate, and no settings or queues need to be created by hand.', null=True)),
                ('dead_letter_queue_prefix', models.CharField(blank=True, help_text='The prefix of the names of these queues, before the address. Default: DLQ.', max_length=100, null=True)),
                ('dead_letter_queue_suffix', models.CharField(blank=True, help_text='The suffix of the names of these queues, after the address.', max_length=100, null=True)),
                ('auto_create_expiry_resources', models.BooleanField(blank=True, help_text='The same for the expiry address: expired messages are separate for each address that they were sent to.', null=True)),
                ('expiry_queue_prefix', models.CharField(blank=True, help_text='The prefix of the names of these queues, before the address. Default: EXP.', max_length=100, null=True)),
                ('expiry_queue_suffix', models.CharField(blank=True, help_text='The suffix of the names of these queues, after the address.', max_length=100, null=True)),
                ('auto_delete_queues_delay_ms', models.BigIntegerField(blank=True, help_text='How long an empty auto-created queue is kept, in milliseconds. The next message for it creates it again.', null=True, validators=[django.core.validators.MinValueValidator(0, 'This cannot be negative. Give 0 for none.')])),
                ('no_expiry', models.BooleanField(blank=True, help_text='Messages never expire, whatever expiry the sender set.', null=True)),
                ('expiry_delay_ms', models.BigIntegerField(blank=True, help_text='The expiry of messages that arrive without one, in milliseconds; -1: none.', null=True, validators=[django.core.validators.MinValueValidator(-1, 'This cannot be below -1. Give milliseconds from 0, or -1 for none.')])),
                ('min_expiry_delay_ms', models.BigIntegerField(blank=True, help_text='The minimum expiry, in milliseconds; also given to messages that never expire. -1: none.', null=True, validators=[django.core.validators.MinValueValidator(-1, 'This cannot be below -1. Give milliseconds from 0, or -1 for none.')])),
                ('max_expiry_delay_ms', models.BigIntegerField(blank=True, help_text='The maximum expiry, in milliseconds; also given to messages that never expire. -1: none.', null=True, validators=[django.core.validators.MinValueValidator(-1, 'This cannot be below -1. Give milliseconds from 0, or -1 for none.')])),
                ('rules_arrivals', models.GeneratedField(db_persist=True, expression=models.Q(('no_expiry__isnull', False), ('expiry_delay_ms__isnull', False), ('min_expiry_delay_ms__isnull', False), ('max_expiry_delay_ms__isnull', False), _connector='OR'), output_field=models.BooleanField())),  # type: ignore[arg-type]
            ],
            options={
                'ordering': ['match'],
                'constraints': [models.UniqueConstraint(models.F('match'), name='one_setting_a_pattern'), models.CheckConstraint(condition=models.Q(('max_delivery_attempts__gte', -1)), name='attempts_are_a_number_or_unlimited'), models.CheckConstraint(condition=models.Q(('redelivery_delay_multiplier__gt', 0)), name='multipliers_are_positive'), models.CheckConstraint(condition=models.Q(('redelivery_collision_avoidance_factor__gte', 0), ('redelivery_collision_avoidance_factor__lte', 1)), name='collision_avoidance_is_a_share'), models.CheckConstraint(condition=models.Q(models.Q(('redelivery_delay_ms__isnull', True), ('redelivery_delay_ms__gte', 0), _connector='OR'), models.Q(('max_redelivery_delay_ms__isnull', True), ('max_redelivery_delay_ms__gte', 0), _connector='OR')), name='delays_are_not_negative')],
            },
        ),
        migrations.CreateModel(
            name='Course',
            fields=[
                ('operation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='course', serialize=False, to='broker.operation')),
                ('pace', models.PositiveIntegerField(null=True)),
                ('free_at', models.DateTimeField(null=True)),
                ('paused_at', models.DateTimeField(null=True)),
                ('stepped_at', models.DateTimeField(null=True)),
                ('stage', models.CharField(choices=[('trial', 'Trial'), ('watch', 'Watch'), ('halted', 'Halted'), ('rest', 'Rest')], db_default='rest', default='rest', max_length=8)),
                ('canaries', models.PositiveIntegerField(db_default=0, default=0)),
                ('chosen', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), default=list, size=None)),
                ('causes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('part', models.PositiveIntegerField(db_default=0, default=0)),
                ('to_send', models.PositiveIntegerField(db_default=0, default=0)),
                ('tried', models.PositiveIntegerField(db_default=0, default=0)),
                ('ramped_to', models.BigIntegerField(db_default=0, default=0)),
                ('watched_since', models.DateTimeField(null=True)),
                ('forgiven_to', models.BigIntegerField(db_default=0, default=0)),
                ('halt', models.JSONField(null=True)),
                ('rest_at', models.DateTimeField(null=True)),
                ('swept_to', models.BigIntegerField(db_default=0, default=0)),
                ('look_at', models.DateTimeField(null=True)),
                ('idle_s', models.PositiveIntegerField(db_default=0, default=0)),
                ('settled_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='OperationPatch',
            fields=[
                ('operation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='patch', serialize=False, to='broker.operation')),
                ('document', models.TextField()),
                ('body', models.BinaryField(null=True)),
                ('is_looked', models.BooleanField(default=False)),
                ('looked', models.IntegerField(default=0)),
                ('looked_after', models.BigIntegerField(default=0)),
                ('alike', models.JSONField(default=list)),
            ],
        ),
        migrations.CreateModel(
            name='AuditRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField(null=True)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('actor_kind', models.TextField(choices=[('user', 'somebody who had signed in'), ('credential', 'an application, by its credential'), ('system', 'a user of the operating system, by a command'), ('nobody', 'somebody who had not signed in')])),
                ('actor_id', models.BigIntegerField(null=True)),
                ('actor', models.TextField()),
                ('source', models.TextField()),
                ('act', models.TextField()),
                ('object_kind', models.TextField()),
                ('object_id', models.TextField()),
                ('object_name', models.TextField()),
                ('outcome', models.TextField(choices=[('done', 'Done'), ('refused', 'Refused')])),
                ('reason', models.TextField()),
                ('detail', models.TextField()),
                ('operation_id', models.BigIntegerField(null=True)),
                ('hash', models.TextField(null=True)),
            ],
            options={
                'db_table': 'broker_audit',
                'ordering': ['-id'],
                'default_permissions': ('view',),
                'indexes': [models.Index(fields=['at'], name='broker_audit_at'), models.Index(fields=['actor', 'id'], name='broker_audit_actor'), models.Index(fields=['act', 'id'], name='broker_audit_act'), models.Index(fields=['object_name', 'id'], name='broker_audit_object'), models.Index(condition=models.Q(('operation_id__isnull', False)), fields=['operation_id', 'id'], name='broker_audit_operation'), models.Index(condition=models.Q(('outcome', 'refused')), fields=['at', 'actor'], name='broker_audit_refused')],
                'constraints': [models.UniqueConstraint(models.F('number'), name='one_record_a_number')],
            },
        ),
        migrations.CreateModel(
            name='Bridge',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('description', models.TextField(blank=True, db_default='', default='')),
                ('tag_messages', models.BooleanField(db_default=False, default=False, help_text='Adds the property JMS_SUN_JMSBRIDGE_NAME with the name of the bridge to each message (message-transfer-tag-bridge-name). A selector on it prevents loops.')),
                ('log_transfers', models.BooleanField(db_default=True, default=True, help_text='Log each transfer (log-message-transfer).')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_bridge_a_name')],
            },
        ),
        migrations.CreateModel(
            name='BridgeDestination',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('ref_name', models.CharField(help_text='ref-name', max_length=100)),
                ('description', models.TextField(blank=True, db_default='', default='')),
                ('name', models.CharField(help_text='Its name at the provider.', max_length=255)),
                ('kind', models.CharField(choices=[('queue', 'Queue'), ('topic', 'Topic')], default='queue', help_text='type', max_length=5)),
                ('lookup_name', models.CharField(blank=True, default='', help_text='lookup-name: of a JNDI repository; kept for the document only.', max_length=255)),
                ('properties', models.JSONField(blank=True, default=dict)),
                ('bridge', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='destinations', to='broker.bridge')),
            ],
            options={
                'verbose_name': 'destination',
                'ordering': ['bridge', 'ref_name'],
            },
        ),
        migrations.CreateModel(
            name='ConnectionFactory',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='ref-name', max_length=100)),
                ('description', models.TextField(blank=True, db_default='', default='')),
                ('provider', models.CharField(help_text='The type of the provider; this-broker needs no URL.', max_length=20)),
                ('url', models.CharField(blank=True, default='', help_text='Such as stomp://host:61613.', max_length=500)),
                ('username', models.CharField(blank=True, default='', max_length=255)),
                ('secret', models.TextField(blank=True, default='', editable=False)),
                ('properties', models.JSONField(blank=True, default=dict, help_text='Further properties of the provider: texts by name.')),
                ('lookup_name', models.CharField(blank=True, default='', help_text='lookup-name: of a JNDI repository; kept for the document only.', max_length=255)),
                ('connect_attempts', models.IntegerField(db_default=-1, default=-1, help_text='Connection attempts before the link stops; -1: no limit.', validators=[django.core.validators.MinValueValidator(-1, 'Give -1 to try for ever, or a number from 0.')])),
                ('connect_interval_s', models.PositiveIntegerField(db_default=5, default=5, help_text='Seconds between two attempts (connect-attempt-interval-in-seconds).')),
                ('idle_timeout_s', models.PositiveIntegerField(db_default=1800, default=1800, help_text='Seconds without a message after which an idle connection is closed, unless it stays connected; 0: never (idle-timeout-in-seconds).')),
                ('multi_rm', models.BooleanField(db_default=False, default=False, help_text='multi-rm: kept for the document only; here each factory is one resource manager.')),
                ('bridge', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='factories', to='broker.bridge')),
            ],
            options={
                'verbose_name_plural': 'connection factories',
                'ordering': ['bridge', 'name'],
            },
        ),
        migrations.CreateModel(
            name='Credential',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='The user name with which the application logs in.', max_length=100, validators=[django.core.validators.RegexValidator('\\A[A-Za-z0-9][A-Za-z0-9._@-]*\\Z', 'Give a name of letters, digits and . _ @ -, which begins with a letter or digit.')])),
                ('patterns', models.TextField(default='#', help_text='The queues and addresses that it may use: one pattern on each line, as in authorities.')),
                ('may_get', models.BooleanField(default=True, verbose_name='get')),
                ('may_browse', models.BooleanField(default=True, verbose_name='browse')),
                ('may_put', models.BooleanField(default=True, verbose_name='put')),
                ('secret_sha256', models.BinaryField()),
                ('scram_salt', models.BinaryField()),
                ('scram_iterations', models.PositiveIntegerField(editable=False)),
                ('scram_stored_key', models.BinaryField()),
                ('scram_server_key', models.BinaryField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('expires_at', models.DateTimeField(blank=True, help_text='Empty: it is valid until it is revoked.', null=True)),
                ('revoked_at', models.DateTimeField(editable=False, null=True)),
                ('last_used_at', models.DateTimeField(editable=False, null=True)),
                ('created_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('revoked_by', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(help_text='The user whose authorities it has. It never has more than these.', on_delete=django.db.models.deletion.CASCADE, related_name='credentials', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['name'],
            },
        ),
        migrations.CreateModel(
            name='ClientConnection',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner_id', models.IntegerField()),
                ('container_id', models.TextField()),
                ('mechanism', models.TextField()),
                ('host', models.TextField()),
                ('is_encrypted', models.BooleanField()),
                ('product', models.TextField(blank=True)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('close_requested_at', models.DateTimeField(null=True)),
                ('close_requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('credential', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, to='broker.credential')),
            ],
            options={
                'ordering': ['id'],
                'permissions': [('close_clientconnection', "Can close clients' connections")],
            },
        ),
        migrations.CreateModel(
            name='DeadLetterGroup',
            fields=[
                ('fingerprint', models.TextField(primary_key=True, serialize=False)),
                ('note', models.TextField(db_default='', default='')),
                ('ticket', models.TextField(db_default='', default='')),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('snoozed_until', models.DateTimeField(null=True)),
                ('snoozed_above', models.PositiveBigIntegerField(null=True)),
                ('known', models.JSONField(default=list)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('acknowledged_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('snoozed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='DeadMessageQueue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('description', models.TextField(blank=True, db_default='', default='')),
                ('position', models.PositiveIntegerField(db_default=0, default=0, help_text='Dead message queues are tried in this order, the lowest first.')),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('stay_connected', models.BooleanField(db_default=True, default=True)),
                ('time_to_live_ms', models.PositiveBigIntegerField(db_default=0, default=0, help_text='Time to live of dead messages, in milliseconds; 0: for ever (time-to-live-in-millis).')),
                ('client_id', models.CharField(blank=True, default='', max_length=255)),
                ('send_attempts', models.PositiveIntegerField(db_default=3, default=3, help_text='Attempts to send to this queue (send-attempts).', validators=[django.core.validators.MinValueValidator(1, 'Give a number from 1.')])),
                ('send_interval_s', models.PositiveIntegerField(db_default=5, default=5, help_text='Seconds between two attempts (send-attempt-interval-in-seconds).')),
                ('transformer', models.CharField(blank=True, default='', max_length=255)),
                ('properties', models.JSONField(blank=True, default=dict)),
                ('bridge', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='dead_queues', to='broker.bridge')),
                ('destination', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='dead_queue_of', to='broker.bridgedestination')),
                ('factory', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='dead_queue_of', to='broker.connectionfactory')),
            ],
            options={
                'ordering': ['bridge', 'position', 'id'],
            },
        ),
        migrations.CreateModel(
            name='Experience',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('fingerprint', models.TextField()),
                ('processed', models.BigIntegerField(default=0)),
                ('died', models.BigIntegerField(default=0)),
                ('since', models.DateTimeField()),
                ('last_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.F('fingerprint'), name='one_experience_a_fingerprint')],
            },
        ),
        migrations.CreateModel(
            name='KeptAnswer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asker', models.CharField(max_length=64)),
                ('key', models.CharField(max_length=255)),
                ('digest', models.BinaryField()),
                ('status', models.SmallIntegerField(null=True)),
                ('content_type', models.TextField(db_default='', default='')),
                ('body', models.BinaryField(null=True)),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(models.F('asked_at'), name='answers_to_forget')],
                'constraints': [models.UniqueConstraint(models.F('asker'), models.F('key'), name='one_answer_a_key')],
            },
        ),
        migrations.CreateModel(
            name='LinkStatus',
            fields=[
                ('link', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='status', serialize=False, to='broker.link')),
                ('wanted', models.CharField(blank=True, db_default='', default='', max_length=13)),
                ('state', models.CharField(choices=[('UNINITIALIZED', 'not started yet'), ('STARTING', 'starting'), ('STARTED', 'running'), ('PAUSING', 'pausing'), ('PAUSED', 'paused'), ('STOPPING', 'stopping'), ('STOPPED', 'stopped')], db_default='UNINITIALIZED', default='UNINITIALIZED', max_length=13)),
                ('epoch', models.BigIntegerField(db_default=0, default=0)),
                ('owner_id', models.IntegerField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('changed_at', models.DateTimeField(null=True)),
                ('batch_number', models.BigIntegerField(db_default=0, default=0)),
                ('failures', models.IntegerField(db_default=0, default=0)),
                ('error', models.TextField(db_default='', default='')),
                ('error_at', models.DateTimeField(null=True)),
                ('last_transfer_at', models.DateTimeField(null=True)),
                ('waiting', models.BigIntegerField(null=True)),
                ('oldest_at', models.DateTimeField(null=True)),
                ('looked_at', models.DateTimeField(null=True)),
                ('received', models.BigIntegerField(db_default=0, default=0)),
                ('duplicates', models.BigIntegerField(db_default=0, default=0)),
                ('looped', models.BigIntegerField(db_default=0, default=0)),
                ('expired', models.BigIntegerField(db_default=0, default=0)),
                ('transformed', models.BigIntegerField(db_default=0, default=0)),
                ('not_transferred', models.BigIntegerField(db_default=0, default=0)),
                ('branched', models.BigIntegerField(db_default=0, default=0)),
                ('sent', models.BigIntegerField(db_default=0, default=0)),
                ('dead', models.BigIntegerField(db_default=0, default=0)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='link',
            name='bridge',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='broker.bridge'),
        ),
        migrations.AddField(
            model_name='link',
            name='source',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='source_of', to='broker.bridgedestination'),
        ),
        migrations.AddField(
            model_name='link',
            name='source_factory',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='source_of', to='broker.connectionfactory'),
        ),
        migrations.AddField(
            model_name='link',
            name='target',
            field=models.ForeignKey(blank=True, help_text='Empty is AS_SOURCE: the destination that the message came from.', null=True, on_delete=django.db.models.deletion.RESTRICT, related_name='target_of', to='broker.bridgedestination'),
        ),
        migrations.AddField(
            model_name='link',
            name='target_factory',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='target_of', to='broker.connectionfactory'),
        ),
        migrations.CreateModel(
            name='Branch',
            fields=[
                ('xid', models.CharField(max_length=200, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('decided', 'committed here; to be committed at the other provider'), ('prepared', 'prepared here; the marker at the other provider decides')], max_length=8)),
                ('messages', models.PositiveIntegerField()),
                ('detail', models.JSONField(default=dict)),
                ('began_at', models.DateTimeField()),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='branches', to='broker.link')),
            ],
            options={
                'verbose_name_plural': 'branches',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ModelQueue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('backout_threshold', models.PositiveIntegerField(db_default=0, default=0, help_text='Backouts after which consumers move a message to the backout queue (BOTHRESH); 0: never.', validators=[django.core.validators.MaxValueValidator(999999999)])),
                ('backout_queue', models.CharField(blank=True, db_default='', default='', help_text='The queue for messages that reached the backout threshold (BOQNAME).', max_length=255)),
                ('max_depth', models.PositiveIntegerField(blank=True, help_text='The largest number of messages (MAXDEPTH); empty: no limit.', null=True)),
                ('max_message_bytes', models.PositiveIntegerField(blank=True, help_text='The largest size of body and headers, in bytes (MAXMSGL); empty: the limit of the broker.', null=True)),
                ('name', models.CharField(max_length=255)),
                ('permanent', models.BooleanField(default=False, help_text='Queues created from it survive the client that requested them.')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_model_a_name')],
            },
        ),
        migrations.CreateModel(
            name='OperationItem',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queue_id', models.IntegerField()),
                ('message_id', models.BigIntegerField()),
                ('target', models.TextField()),
                ('status', models.CharField(choices=[('planned', 'Planned'), ('done', 'Done'), ('skipped', 'Skipped'), ('left_out', 'Left Out')], db_default='planned', default='planned', max_length=8)),
                ('note', models.TextField(blank=True, db_default='')),
                ('copy_id', models.BigIntegerField(null=True)),
                ('fate', models.SmallIntegerField(choices=[(1, 'processed'), (2, 'dead-lettered again'), (3, 'expired'), (4, 'taken away'), (5, 'unknown')], null=True)),
                ('died_of', models.TextField(blank=True, db_default='')),
                ('came_from', models.SmallIntegerField(choices=[(1, 'Ready'), (2, 'Claimed'), (3, 'Delayed')], null=True)),
                ('priority', models.SmallIntegerField(null=True)),
                ('backout_count', models.IntegerField(null=True)),
                ('delivery_count', models.IntegerField(null=True)),
                ('due_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('operation', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='broker.operation')),
            ],
        ),
        migrations.CreateModel(
            name='Queue',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('backout_threshold', models.PositiveIntegerField(db_default=0, default=0, help_text='Backouts after which consumers move a message to the backout queue (BOTHRESH); 0: never.', validators=[django.core.validators.MaxValueValidator(999999999)])),
                ('backout_queue', models.CharField(blank=True, db_default='', default='', help_text='The queue for messages that reached the backout threshold (BOQNAME).', max_length=255)),
                ('max_depth', models.PositiveIntegerField(blank=True, help_text='The largest number of messages (MAXDEPTH); empty: no limit.', null=True)),
                ('max_message_bytes', models.PositiveIntegerField(blank=True, help_text='The largest size of body and headers, in bytes (MAXMSGL); empty: the limit of the broker.', null=True)),
                ('name', models.CharField(max_length=255)),
                ('kind', models.PositiveSmallIntegerField(choices=[(1, 'local'), (2, 'managed'), (3, 'temporary'), (4, 'internal')], db_default=1, default=1, editable=False)),
                ('routing_type', models.PositiveSmallIntegerField(choices=[(0, 'multicast: every queue'), (1, 'anycast: one queue')], db_default=1, default=1)),
                ('paused', models.BooleanField(db_default=False, default=False, help_text='A paused queue accepts messages and delivers none.')),
                ('put_inhibited', models.BooleanField(db_default=False, default=False, help_text='A put-inhibited queue delivers messages and accepts none.')),
                ('harden_backout', models.BooleanField(db_default=True, default=True, help_text='Backout counts survive a restart of the broker (HARDENBO).')),
                ('counts_when_lost', models.TextField(choices=[('all', 'every delivery'), ('oldest', 'the oldest only'), ('none', 'none')], db_default='all', default='all', help_text='If a client is lost: which of its deliveries count as backed out. Only the oldest: a message that kills its consumer still reaches the threshold, and prefetched messages keep their counts.')),
                ('max_resubmits', models.PositiveIntegerField(db_default=3, default=3, help_text='How often one message may be resubmitted to this queue. Dead letters above the limit are left out of a plan to resubmit. 0: no limit.')),
                ('reason_above', models.PositiveIntegerField(blank=True, help_text='An operation on more messages of this queue needs a reason. Empty: the same as for other queues.', null=True)),
                ('approval_above', models.PositiveIntegerField(blank=True, help_text='An operation on more messages of this queue needs the approval of a second person. Empty: never.', null=True)),
                ('stopped', models.BooleanField(db_default=False, default=False, editable=False, help_text='Delivery to ConnectionConsumers has stopped; the stoppage has the reason.')),
                ('selector', models.TextField(blank=True, db_default='', default='', help_text='The queue accepts only messages that match this selector.')),
                ('guarded', models.GeneratedField(db_persist=True, expression=models.Q(('put_inhibited', True), ('max_depth__isnull', False), ('max_message_bytes__isnull', False), models.Q(('selector', ''), _negated=True), _connector='OR'), output_field=models.BooleanField())),  # type: ignore[arg-type]
                ('description', models.TextField(blank=True, db_default='', default='', help_text='The purpose of the queue, in one or two sentences.', max_length=1000)),
                ('contact', models.CharField(blank=True, db_default='', default='', help_text='The contact for problems: a team, a person, or a channel.', max_length=200)),
                ('runbook', models.CharField(blank=True, db_default='', default='', help_text='A link to instructions for problems.', max_length=500, validators=[django.core.validators.URLValidator(schemes=['http', 'https'])])),
                ('auto_created', models.BooleanField(db_default=False, default=False, editable=False)),
                ('idle_since', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('address', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='queues', to='broker.address')),
            ],
            options={
                'permissions': [('browse_queue', 'Can read the messages on queues'), ('resubmit_message', 'Can send dead letters back to where they came from'), ('pause_queue', 'Can pause and resume queues')],
            },
        ),
        migrations.CreateModel(
            name='CounterReset',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('counter', models.CharField(max_length=32)),
                ('value', models.BigIntegerField()),
                ('reset_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='counter_resets', to='broker.queue')),
            ],
        ),
        migrations.CreateModel(
            name='ConnectionConsumer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('owner_id', models.IntegerField()),
                ('handler', models.TextField()),
                ('selector', models.TextField(blank=True)),
                ('retains_unwanted', models.BooleanField(default=True)),
                ('server_sessions', models.IntegerField()),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='consumers', to='broker.queue')),
            ],
        ),
        migrations.CreateModel(
            name='ClientEndpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session', models.IntegerField()),
                ('name', models.TextField()),
                ('kind', models.TextField(choices=[('puts', 'puts'), ('gets', 'gets'), ('browses', 'browses'), ('transactions', 'transactions')])),
                ('node', models.TextField()),
                ('is_exclusive', models.BooleanField(default=False)),
                ('credit', models.BigIntegerField(default=0)),
                ('unsettled', models.IntegerField(default=0)),
                ('messages', models.BigIntegerField(default=0)),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('close_requested_at', models.DateTimeField(null=True)),
                ('close_requested_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('connection', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to='broker.clientconnection')),
                ('queue', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to='broker.queue')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='QueueAlias',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('target', models.CharField(help_text='The queue or address that the alias stands for.', max_length=255)),
            ],
            options={
                'verbose_name_plural': 'queue aliases',
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_alias_a_name')],
            },
        ),
        migrations.CreateModel(
            name='RedactionRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Shown in place of masked values, such as PII-3.', max_length=40, validators=[django.core.validators.RegexValidator('\\A[A-Za-z0-9][A-Za-z0-9._-]*\\Z', 'Give a name of letters, digits and . _ -, which begins with a letter or digit.')])),
                ('queues', models.CharField(default='#', help_text='The queues and addresses that the rule applies to: words separated by dots; * matches one word, # at the end matches any number of words.', max_length=255)),
                ('kind', models.CharField(choices=[('json', 'JSON pointer'), ('xml', 'path of XML elements'), ('hl7', 'field of HL7 version 2'), ('property', 'property'), ('pattern', 'regular expression')], max_length=8)),
                ('target', models.CharField(help_text='JSON: /patient/*/name, with ** for any depth. XML: /order/customer/name, //name or //customer/@id. HL7: PID-5 or PID-5.1. Property: its name, with * for any characters. Or a regular expression (RE2).', max_length=256)),
                ('is_active', models.BooleanField(db_default=True, default=True, verbose_name='active')),
                ('revision', models.PositiveIntegerField(db_default=1, default=1, editable=False)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_redaction_a_name')],
            },
        ),
        migrations.CreateModel(
            name='RuleAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.BigIntegerField()),
                ('queue_id', models.IntegerField()),
                ('copy_id', models.BigIntegerField(null=True)),
                ('attempts', models.JSONField()),
                ('tried_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('copy_id__isnull', False)), fields=['copy_id'], name='broker_attempt_copy')],
                'constraints': [models.UniqueConstraint(models.F('message_id'), models.F('queue_id'), name='one_count_a_letter')],
            },
        ),
        migrations.CreateModel(
            name='RuleTable',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('mode', models.TextField(choices=[('off', 'off'), ('observe', 'observe'), ('active', 'active')], db_default='off', default='off')),
                ('revision', models.PositiveIntegerField(db_default=1, default=1)),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('switched_at', models.DateTimeField(null=True)),
                ('seen_id', models.BigIntegerField(db_default=0, default=0)),
                ('round_began_at', models.DateTimeField(null=True)),
                ('trouble', models.TextField(db_default='', default='')),
                ('acts_for', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('queue', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='rule_table', to='broker.queue')),
            ],
            options={
                'default_permissions': ('change',),
            },
        ),
        migrations.CreateModel(
            name='RulePass',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.TextField(choices=[('off', 'off'), ('observe', 'observe'), ('active', 'active')])),
                ('revision', models.PositiveIntegerField()),
                ('began_at', models.DateTimeField()),
                ('looked_at', models.PositiveIntegerField()),
                ('deeds', models.JSONField()),
                ('table', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='passes', to='broker.ruletable')),
            ],
            options={
                'ordering': ['-id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='SeenMessage',
            fields=[
                ('pk', models.CompositePrimaryKey('link_id', 'message_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('message_id', models.TextField()),
                ('seen_at', models.DateTimeField()),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='broker.link')),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Stoppage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('message_id', models.BigIntegerField()),
                ('reason', models.IntegerField()),
                ('why', models.TextField()),
                ('stopped_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cleared_at', models.DateTimeField(null=True)),
                ('cleared_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('queue', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='stoppages', to='broker.queue')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='Subscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('client_id', models.CharField(blank=True, max_length=255)),
                ('name', models.CharField(blank=True, max_length=255)),
                ('durable', models.BooleanField()),
                ('is_shared', models.BooleanField(db_default=False, default=False)),
                ('owner_id', models.IntegerField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('address', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='broker.address')),
                ('queue', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='subscription', to='broker.queue')),
            ],
        ),
        migrations.CreateModel(
            name='Approval',
            fields=[
                ('operation', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='approval', serialize=False, to='broker.operation')),
                ('seal', models.TextField()),
                ('asked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('expires_at', models.DateTimeField()),
                ('approved_at', models.DateTimeField(null=True)),
                ('approved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Authority',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('pattern', models.CharField(default='#', help_text='Words separated by dots; * matches one word, # at the end matches any number of words.', max_length=255)),
                ('may_inquire', models.BooleanField(default=False, verbose_name='inquire')),
                ('may_browse', models.BooleanField(default=False, verbose_name='browse')),
                ('may_unmask', models.BooleanField(db_default=False, default=False, verbose_name='unmask')),
                ('may_get', models.BooleanField(default=False, verbose_name='get')),
                ('may_put', models.BooleanField(default=False, verbose_name='put')),
                ('may_pass_all', models.BooleanField(default=False, verbose_name='passall')),
                ('may_set', models.BooleanField(default=False, verbose_name='set')),
                ('group', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='auth.group')),
                ('user', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name_plural': 'authorities',
                'ordering': ['pattern', 'id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('user__isnull', True), ('group__isnull', True), _connector='XOR'), name='authorities_are_of_a_user_or_a_group'), models.UniqueConstraint(models.F('user'), models.F('group'), models.F('pattern'), name='one_authority_a_principal_and_pattern', nulls_distinct=False)],
            },
        ),
        migrations.AddConstraint(
            model_name='bridgedestination',
            constraint=models.UniqueConstraint(models.F('bridge'), models.F('ref_name'), name='one_destination_a_name'),
        ),
        migrations.AddConstraint(
            model_name='connectionfactory',
            constraint=models.UniqueConstraint(models.F('bridge'), models.F('name'), name='one_factory_a_name'),
        ),
        migrations.AddConstraint(
            model_name='credential',
            constraint=models.UniqueConstraint(models.F('name'), name='one_credential_a_name'),
        ),
        migrations.AddIndex(
            model_name='clientconnection',
            index=models.Index(models.F('id'), condition=models.Q(('close_requested_at__isnull', False)), name='connections_to_close'),
        ),
        migrations.AddConstraint(
            model_name='deadmessagequeue',
            constraint=models.UniqueConstraint(models.F('bridge'), models.F('name'), name='one_dead_queue_a_name'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.UniqueConstraint(models.F('bridge'), models.F('name'), name='one_link_a_name'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.UniqueConstraint(models.F('key'), name='one_link_a_key'),
        ),
        migrations.AddIndex(
            model_name='operationitem',
            index=models.Index(fields=['operation', 'status', 'id'], name='broker_item_next'),
        ),
        migrations.AddConstraint(
            model_name='queue',
            constraint=models.UniqueConstraint(models.F('name'), name='one_queue_a_name'),
        ),
        migrations.AddConstraint(
            model_name='queue',
            constraint=models.CheckConstraint(condition=models.Q(('backout_threshold__lte', 999999999)), name='thresholds_have_nine_digits'),
        ),
        migrations.AddConstraint(
            model_name='counterreset',
            constraint=models.UniqueConstraint(models.F('queue'), models.F('counter'), name='one_reset_a_counter'),
        ),
        migrations.AddIndex(
            model_name='clientendpoint',
            index=models.Index(models.F('id'), condition=models.Q(('close_requested_at__isnull', False)), name='endpoints_to_close'),
        ),
        migrations.AddConstraint(
            model_name='clientendpoint',
            constraint=models.UniqueConstraint(models.F('queue'), condition=models.Q(('is_exclusive', True)), name='one_exclusive_consumer_a_queue'),
        ),
        migrations.AddIndex(
            model_name='seenmessage',
            index=models.Index(fields=['link', 'seen_at'], name='seen_by_link_and_time'),
        ),
        migrations.AddConstraint(
            model_name='stoppage',
            constraint=models.UniqueConstraint(models.F('queue'), condition=models.Q(('cleared_at__isnull', True)), name='one_open_stoppage_a_queue'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(models.F('client_id'), models.F('name'), condition=models.Q(('durable', True)), name='one_durable_subscription_a_name'),
        ),
        migrations.AddConstraint(
            model_name='subscription',
            constraint=models.UniqueConstraint(models.F('client_id'), models.F('name'), condition=models.Q(('durable', False), ('is_shared', True)), name='one_shared_subscription_a_name'),
        ),
        migrations.AddConstraint(
            model_name='approval',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('approved_at__isnull', True), ('approved_by__isnull', True)), models.Q(('approved_at__isnull', False), ('approved_by__isnull', False)), _connector='OR'), name='who_approved_and_when_go_together'),
        ),
        migrations.RunSQL(HOT_TABLES, DROP_HOT_TABLES),
        migrations.RunSQL(AUDIT, DROP_AUDIT),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
