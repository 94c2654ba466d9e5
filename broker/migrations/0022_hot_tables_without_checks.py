"""Hot tables have no check constraints: PostgreSQL parses each anew in each statement,
a tenth of the server's time for one message. ``broker_fsck`` finds what they refused."""

from django.db import migrations

IN_STEP = " AND ".join(
    f"cardinality(ids) = cardinality({name})"
    for name in ("priorities", "backout_counts", "delivery_counts", "expiries")
)
CHECKS = (
    ("message", "priorities_are_0_to_9", "priority BETWEEN 0 AND 9"),
    ("ready", "backouts_are_deliveries", "backout_count <= delivery_count"),
    ("delayed", "delayed_backouts_are_deliveries", "backout_count <= delivery_count"),
    ("claim", "claims_hold_something", "cardinality(ids) > 0"),
    ("claim", "claim_arrays_run_in_step", IN_STEP),
    ("event", "events_are_about_something", "n = cardinality(ids) AND n > 0"),
    (
        *("event", "events_have_a_from_or_a_to"),
        "came_from IS NOT NULL OR went_to IS NOT NULL",
    ),
)


class Migration(migrations.Migration):
    dependencies = [("broker", "0021_an_operation_starts_later")]

    operations = [
        migrations.RunSQL(
            f"ALTER TABLE broker_{table} DROP CONSTRAINT {name}",
            f"ALTER TABLE broker_{table} ADD CONSTRAINT {name} CHECK ({check})",
        )
        for table, name, check in CHECKS
    ]
