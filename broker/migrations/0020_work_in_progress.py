"""Units of work tell their puts, and consumers how busy they are."""

from django.db import migrations, models

PUTS = "ALTER TABLE broker_unit_of_work ADD COLUMN puts integer NOT NULL DEFAULT 0"
BUSY = models.PositiveSmallIntegerField(null=True)


class Migration(migrations.Migration):
    dependencies = [("broker", "0019_an_address_may_be_set_to_none")]

    operations = [
        migrations.RunSQL(PUTS, "ALTER TABLE broker_unit_of_work DROP COLUMN puts"),
        migrations.AddField("connectionconsumer", "busy_percent", BUSY),
        migrations.AddField("clientendpoint", "busy_percent", BUSY),
        migrations.AddField(
            "clientendpoint",
            "uncommitted",
            models.IntegerField(db_default=0, default=0),
        ),
    ]
