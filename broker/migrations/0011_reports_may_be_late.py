"""Alerts: a rule for reports of the night that are not done in the morning."""

from typing import Any

from django.db import migrations, models

NAME = 'reports-late'


def fill(apps: Any, editor: Any) -> None:
    rules = apps.get_model('broker', 'AlertRule').objects.using(editor.connection.alias)
    rules.get_or_create(name=NAME, defaults={'condition': 'reports_late', 'for_s': 900})


def clear(apps: Any, editor: Any) -> None:
    rules = apps.get_model('broker', 'AlertRule').objects.using(editor.connection.alias)
    rules.filter(condition='reports_late').delete()


class Migration(migrations.Migration):
    dependencies = [('broker', '0010_times_from_get_to_accept')]

    operations = [
        migrations.RunPython(migrations.RunPython.noop, clear),
        migrations.AlterField(
            model_name='alertrule',
            name='condition',
            field=models.CharField(choices=[('depth', 'depth of a queue'), ('age', 'age of the oldest message'), ('not_consumed', 'messages wait and nobody consumes'), ('delivery_stopped', 'delivery to consumers has stopped'), ('dead_letters', 'dead letters in a queue'), ('dead_letter_growth', 'growth of a dead-letter group'), ('new_cause', 'dead letters of a new cause'), ('link_failed', 'a bridge link failed or tries again'), ('approval', 'an operation waits for an approval'), ('disk', 'share of the disk in use'), ('reports_late', 'reports of the night are not done')], max_length=20),
        ),
        migrations.AlterField(
            model_name='alertrule',
            name='queues',
            field=models.CharField(db_default='#', default='#', help_text='Queues, by name or pattern: * is one word, # at the end any words. For dead-letter groups, the queues from which the messages came. No meaning for links, approvals, the disk and reports.', max_length=255),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
