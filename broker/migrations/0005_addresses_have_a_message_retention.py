"""An address setting says how long messages that have ended stay readable."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [('broker', '0004_pauses_may_have_an_end')]

    operations = [
        migrations.AddField(
            model_name='addresssetting',
            name='message_retention_s',
            field=models.BigIntegerField(
                blank=True,
                help_text='How long a message that was sent to the address stays readable after it has ended, in seconds. A longer time than that of the broker (BROKER_MESSAGE_RETENTION_DAYS, the default) counts from the put.',
                null=True,
                validators=[django.core.validators.MinValueValidator(0, 'This cannot be negative. Give 0 for none.')],
            ),
        ),
    ]
