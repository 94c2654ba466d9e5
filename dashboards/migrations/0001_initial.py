"""Runs of reports, what they found, and the files of the archive."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [
        ("dashboards", "0001_runs_have_results"),
        ("dashboards", "0002_reports_run_at_night"),
        ("dashboards", "0003_depths_are_published"),
        ("dashboards", "0004_the_archive_is_kept_by_day"),
    ]

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ArchiveFile',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('table', models.CharField(max_length=80)),
                ('day', models.DateField()),
                ('last_day', models.DateField()),
                ('version', models.PositiveSmallIntegerField()),
                ('path', models.TextField()),
                ('rows', models.BigIntegerField()),
                ('checksum', models.CharField(max_length=64)),
                ('lo', models.BigIntegerField(null=True)),
                ('hi', models.BigIntegerField(null=True)),
                ('window', models.PositiveIntegerField(null=True)),
                ('made_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('replaced_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ['day', 'lo', 'path'],
                'default_permissions': (),
                'indexes': [models.Index(condition=models.Q(('replaced_at__isnull', True)), fields=['table', 'day'], name='archive_file_current')],
                'constraints': [models.UniqueConstraint(models.F('path'), name='files_are_listed_once'), models.CheckConstraint(condition=models.Q(('last_day__gte', models.F('day'))), name='files_end_after_they_begin')],
            },
        ),
        migrations.CreateModel(
            name='ExportWindow',
            fields=[
                ('n', models.PositiveIntegerField(primary_key=True, serialize=False)),
                ('lo', models.BigIntegerField()),
                ('hi', models.BigIntegerField()),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('state', models.CharField(choices=[('open', 'Open'), ('done', 'Done')], default='open', max_length=4)),
                ('rows', models.BigIntegerField(null=True)),
            ],
            options={
                'ordering': ['n'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(models.F('lo'), name='windows_begin_once'), models.UniqueConstraint(models.F('state'), condition=models.Q(('state', 'open')), name='one_window_is_open'), models.CheckConstraint(condition=models.Q(('hi__gt', models.F('lo'))), name='windows_hold_something'), models.CheckConstraint(condition=models.Q(('state', 'open'), ('rows__isnull', False), _connector='OR'), name='done_windows_are_counted')],
            },
        ),
        migrations.CreateModel(
            name='PublishedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('table', models.CharField(max_length=80)),
                ('day', models.DateField()),
                ('version', models.BigIntegerField()),
                ('source', models.BigIntegerField()),
                ('before', models.BigIntegerField(null=True)),
                ('floor', models.BigIntegerField(null=True)),
                ('code', models.PositiveSmallIntegerField()),
                ('rows', models.BigIntegerField()),
                ('published_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'ordering': ['table', 'day'],
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('table', 'day'), name='each_day_is_published_once')],
            },
        ),
        migrations.CreateModel(
            name='ReportRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('report', models.CharField(max_length=64)),
                ('parameters', models.JSONField(blank=True, db_default={}, default=dict)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('running', 'Running'), ('done', 'Done'), ('stopped', 'Stopped'), ('cancelled', 'Cancelled')], default='waiting', max_length=9)),
                ('requested_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('started_at', models.DateTimeField(null=True)),
                ('cancelled_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('stage', models.TextField(blank=True)),
                ('progress', models.FloatField(default=0)),
                ('error', models.TextField(blank=True)),
                ('as_of', models.DateTimeField(null=True)),
                ('through', models.PositiveIntegerField(null=True)),
                ('rows', models.PositiveIntegerField(null=True)),
                ('requested_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'permissions': [('view_report', 'Can read reports'), ('run_report', 'Can run reports')],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='ReportRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('report', models.CharField(max_length=64)),
                ('day', models.DateField(null=True)),
                ('n', models.PositiveIntegerField()),
                ('cells', models.JSONField()),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='results', to='dashboards.reportrun')),
            ],
            options={
                'ordering': ['-day', 'n'],
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='reportrun',
            index=models.Index(fields=['report', '-id'], name='report_run_last'),
        ),
        migrations.AddConstraint(
            model_name='reportrun',
            constraint=models.UniqueConstraint(models.F('report'), models.F('parameters'), condition=models.Q(('state__in', ['waiting', 'running'])), name='one_run_of_a_report_at_a_time'),
        ),
        migrations.AddConstraint(
            model_name='reportrun',
            constraint=models.CheckConstraint(condition=models.Q(('progress__gte', 0), ('progress__lte', 1)), name='progress_is_a_share'),
        ),
        migrations.AddIndex(
            model_name='reportrow',
            index=models.Index(fields=['report', '-day', 'n'], name='report_row_day'),
        ),
        migrations.AddIndex(
            model_name='reportrow',
            index=models.Index(fields=['run', 'n'], name='report_row_run'),
        ),
        migrations.AddConstraint(
            model_name='reportrow',
            constraint=models.CheckConstraint(condition=models.Q(('day__isnull', False), ('run__isnull', False), _connector='XOR'), name='rows_are_of_a_day_or_of_a_run'),
        ),
    ]
