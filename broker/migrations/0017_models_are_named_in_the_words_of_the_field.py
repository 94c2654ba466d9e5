"""Three models and a field get other names in Python. The database stays as it is, so
that processes of the version before go on."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('broker', '0016_rules_have_more_conditions')]

    operations = [
        # A model with a table of its own name keeps it when it is renamed.
        migrations.AlterModelTable(name='course', table='broker_course'),
        migrations.RenameModel(old_name='Course', new_name='OperationSchedule'),
        migrations.AlterField(
            model_name='operationschedule',
            name='operation',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='schedule', serialize=False, to='broker.operation'),
        ),
        migrations.AlterModelTable(name='keptanswer', table='broker_keptanswer'),
        migrations.RenameModel(old_name='KeptAnswer', new_name='StoredResponse'),
        migrations.AlterModelTable(name='seenmessage', table='broker_seenmessage'),
        migrations.RenameModel(old_name='SeenMessage', new_name='TransferredMessage'),
        # The same with the column of a field.
        migrations.AlterField(
            model_name='operationitem',
            name='fate',
            field=models.SmallIntegerField(choices=[(1, 'processed'), (2, 'dead-lettered again'), (3, 'expired'), (4, 'taken away'), (5, 'unknown')], db_column='fate', null=True),
        ),
        migrations.RenameField(model_name='operationitem', old_name='fate', new_name='outcome'),
    ]
