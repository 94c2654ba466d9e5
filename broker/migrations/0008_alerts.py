"""Alerts: rules, targets, alerts with their stories, silences; and the first rules."""

from typing import Any

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

NAME = django.core.validators.RegexValidator('\\A[A-Za-z0-9][A-Za-z0-9._-]*\\Z', 'Give a name of letters, digits and . _ -, which begins with a letter or digit.')
# Name, condition, threshold, within, for, severity; all can be changed under Settings.
FIRST = [
    ('queue-too-deep', 'depth', 5000, 3600, 600, 'warning'),
    ('message-too-old', 'age', 3600, 3600, 300, 'warning'),
    ('nobody-consumes', 'not_consumed', 0, 3600, 300, 'critical'),
    ('delivery-stopped', 'delivery_stopped', 0, 3600, 0, 'critical'),
    ('dead-letters-grow', 'dead_letter_growth', 10, 600, 0, 'critical'),
    ('new-cause', 'new_cause', 0, 3600, 0, 'warning'),
    ('link-failed', 'link_failed', 0, 3600, 120, 'critical'),
    ('approval-waits', 'approval', 0, 3600, 900, 'warning'),
    ('disk-nearly-full', 'disk', 90, 3600, 300, 'critical'),
]


def fill(apps: Any, editor: Any) -> None:
    rules = apps.get_model('broker', 'AlertRule').objects.using(editor.connection.alias)
    for name, condition, threshold, within_s, for_s, severity in FIRST:
        rules.create(name=name, condition=condition, threshold=threshold, within_s=within_s, for_s=for_s, severity=severity)


class Migration(migrations.Migration):
    dependencies = [('broker', '0007_handlers_have_limits')]

    operations = [
        migrations.CreateModel(
            name='AlertTarget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, validators=[NAME])),
                ('kind', models.CharField(choices=[('email', 'e-mail'), ('webhook', 'webhook'), ('slack', 'Slack'), ('pagerduty', 'PagerDuty')], max_length=10)),
                ('address', models.CharField(blank=True, default='', help_text='E-mail: addresses, separated by commas. Webhook: the URL, with https. Slack: empty. PagerDuty: empty, or the URL of another region.', max_length=500)),
                ('secret', models.TextField(blank=True, default='', editable=False)),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('quiet_from', models.TimeField(blank=True, help_text='Begin of the quiet hours, such as 22:00.', null=True)),
                ('quiet_until', models.TimeField(blank=True, help_text='Their end, such as 07:00. What happens in quiet hours and still holds at their end is told then.', null=True)),
                ('zone', models.CharField(db_default='UTC', default='UTC', help_text='The time zone of the quiet hours.', max_length=60, verbose_name='time zone')),
                ('critical_passes', models.BooleanField(db_default=True, default=True, help_text='Critical alerts are told in quiet hours too.')),
                ('told_at', models.DateTimeField(editable=False, null=True)),
                ('error', models.TextField(blank=True, default='', editable=False)),
                ('error_at', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_alert_target_a_name'), models.CheckConstraint(condition=models.Q(('quiet_from__isnull', True), ('quiet_until__isnull', True)) | models.Q(('quiet_from__isnull', False), ('quiet_until__isnull', False)), name='quiet_hours_have_two_ends', violation_error_message='Give both ends of the quiet hours, or none.')],
            },
        ),
        migrations.CreateModel(
            name='AlertRule',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=60, validators=[NAME])),
                ('condition', models.CharField(choices=[('depth', 'depth of a queue'), ('age', 'age of the oldest message'), ('not_consumed', 'messages wait and nobody consumes'), ('delivery_stopped', 'delivery to consumers has stopped'), ('dead_letters', 'dead letters in a queue'), ('dead_letter_growth', 'growth of a dead-letter group'), ('new_cause', 'dead letters of a new cause'), ('link_failed', 'a bridge link failed or tries again'), ('approval', 'an operation waits for an approval'), ('disk', 'share of the disk in use')], max_length=20)),
                ('queues', models.CharField(db_default='#', default='#', help_text='Queues, by name or pattern: * is one word, # at the end any words. For dead-letter groups, the queues from which the messages came. No meaning for links, approvals and the disk.', max_length=255)),
                ('threshold', models.PositiveBigIntegerField(db_default=0, default=0)),
                ('within_s', models.PositiveIntegerField(db_default=3600, default=3600, validators=[django.core.validators.MinValueValidator(60)])),
                ('for_s', models.PositiveIntegerField(db_default=0, default=0)),
                ('severity', models.CharField(choices=[('warning', 'Warning'), ('critical', 'Critical')], default='warning', max_length=8)),
                ('escalate_after_s', models.PositiveIntegerField(db_default=900, default=900)),
                ('repeat_s', models.PositiveIntegerField(db_default=14400, default=14400)),
                ('enabled', models.BooleanField(db_default=True, default=True)),
                ('targets', models.ManyToManyField(blank=True, help_text='They are told at once.', related_name='+', to='broker.alerttarget')),
                ('escalate_to', models.ManyToManyField(blank=True, help_text='They are told if nobody has acknowledged the alert by then.', related_name='+', to='broker.alerttarget')),
            ],
            options={
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(models.F('name'), name='one_alert_rule_a_name')],
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule_name', models.TextField()),
                ('condition', models.TextField()),
                ('severity', models.TextField()),
                ('subject', models.TextField()),
                ('queue', models.TextField(default='')),
                ('fingerprint', models.TextField(default='')),
                ('state', models.TextField(choices=[('pending', 'Pending'), ('firing', 'Firing'), ('acknowledged', 'Acknowledged'), ('resolved', 'Resolved')])),
                ('text', models.TextField()),
                ('value', models.BigIntegerField()),
                ('mark', models.BigIntegerField(null=True)),
                ('first_seen_at', models.DateTimeField()),
                ('last_seen_at', models.DateTimeField()),
                ('fired_at', models.DateTimeField(null=True)),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('acknowledged_by', models.TextField(default='')),
                ('resolved_at', models.DateTimeField(null=True)),
                ('is_settled', models.BooleanField(default=False)),
                ('rule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='alerts', to='broker.alertrule')),
            ],
            options={
                'permissions': [('operate_alert', 'Can acknowledge and silence alerts')],
                'ordering': ['-id'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'resolved'), _negated=True), fields=('rule', 'subject'), name='a_subject_has_one_open_alert')],
                'indexes': [models.Index(condition=models.Q(('is_settled', False)), fields=['id'], name='broker_alert_unsettled')],
            },
        ),
        migrations.CreateModel(
            name='AlertEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('kind', models.TextField(choices=[('fired', 'Fired'), ('notified', 'notification put'), ('delivered', 'Delivered'), ('failed', 'delivery failed'), ('acknowledged', 'Acknowledged'), ('silenced', 'Silenced'), ('unsilenced', 'silence ended'), ('resolved', 'Resolved')])),
                ('actor', models.TextField(default='')),
                ('detail', models.TextField(default='')),
                ('alert', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='broker.alert')),
            ],
            options={
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='AlertNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('told_at', models.DateTimeField()),
                ('resolved_told_at', models.DateTimeField(null=True)),
                ('alert', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='broker.alert')),
                ('target', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='broker.alerttarget')),
            ],
            options={
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('alert', 'target'), name='one_notice_a_target')],
            },
        ),
        migrations.CreateModel(
            name='AlertSilence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('queues', models.TextField(default='')),
                ('fingerprint', models.TextField(default='')),
                ('reason', models.TextField(default='')),
                ('by', models.TextField()),
                ('begins_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ends_at', models.DateTimeField(db_index=True)),
                ('rule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='broker.alertrule')),
            ],
            options={
                'ordering': ['ends_at', 'id'],
                'default_permissions': (),
                'constraints': [models.CheckConstraint(condition=models.Q(('fingerprint', ''), ('queues', ''), ('rule__isnull', True), _negated=True), name='silences_say_of_what'), models.CheckConstraint(condition=models.Q(('ends_at__gte', models.F('begins_at'))), name='silences_end_after_they_begin')],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
