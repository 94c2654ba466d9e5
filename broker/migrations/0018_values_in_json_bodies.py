"""Functions read values from bodies that are JSON."""

from pathlib import Path

from django.db import migrations

FUNCTIONS = (Path(__file__).parent / "sql" / "0018_json_values.sql").read_text()
DROP = "DROP FUNCTION broker_json_values; DROP FUNCTION broker_json_value"


class Migration(migrations.Migration):
    dependencies = [("broker", "0017_models_are_named_in_the_words_of_the_field")]

    operations = [migrations.RunSQL(FUNCTIONS, DROP)]
