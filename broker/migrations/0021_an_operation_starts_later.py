"""A planned operation may start by itself; delayed messages are given another time."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('broker', '0020_work_in_progress'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='operationschedule',
            name='start_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='operationschedule',
            name='start_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='operationschedule',
            name='start_problem',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AddField(
            model_name='operationschedule',
            name='start_through',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='broker.credential'),
        ),
        migrations.AlterField(
            model_name='operation',
            name='kind',
            field=models.CharField(choices=[('resubmit', 'resubmit'), ('move', 'move'), ('copy', 'copy'), ('remove', 'remove'), ('expire', 'expire'), ('dead_letter', 'send to dead letters'), ('priority', 'change the priority'), ('deliver', 'deliver now'), ('reschedule', 'deliver at another time')], max_length=16),
        ),
    ]
