"""A pause of a queue may have an end."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [('broker', '0003_copies_know_their_first_original')]

    operations = [
        migrations.AddField(
            model_name='queue',
            name='paused_until',
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.AddConstraint(
            model_name='queue',
            constraint=models.CheckConstraint(
                condition=Q(('paused', True), ('paused_until__isnull', True), _connector='OR'),
                name='only_a_pause_has_an_end',
            ),
        ),
        migrations.AddIndex(
            model_name='queue',
            index=models.Index(
                models.F('paused_until'),
                condition=Q(('paused_until__isnull', False)),
                name='broker_queue_paused_until',
            ),
        ),
    ]
