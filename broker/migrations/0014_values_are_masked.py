"""Rules say what of messages is masked, and who may see it. Before the deploy."""

from __future__ import annotations

import broker.formats.wildcards
import django.core.validators
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("broker", "0013_rules_and_groups_of_dead_letters"),
    ]

    operations = [
        migrations.AddField(
            model_name="authority",
            name="may_unmask",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="unmask"
            ),
        ),
        migrations.CreateModel(
            name="RedactionRule",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="It stands where a value is masked, such as PII-3.",
                        max_length=40,
                        validators=[
                            django.core.validators.RegexValidator(
                                "\\A[A-Za-z0-9][A-Za-z0-9._-]*\\Z",
                                "Give a name of letters, digits and . _ -, which begins with a letter or digit.",
                            )
                        ],
                    ),
                ),
                (
                    "queues",
                    models.CharField(
                        default="#",
                        help_text="The queues and addresses whose messages are meant: words separated by dots; * is any one word, # at the end any words.",
                        max_length=255,
                        validators=[broker.formats.wildcards.check_pattern],
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("json", "JSON pointer"),
                            ("xml", "path of XML elements"),
                            ("hl7", "field of HL7 version 2"),
                            ("property", "property"),
                            ("pattern", "regular expression"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "target",
                    models.CharField(
                        help_text="/patient/*/name, where ** is any depth; /order/customer/name, //name or //customer/@id; PID-5 or PID-5.1; the name of a property, with * for any characters; or a regular expression of RE2.",
                        max_length=256,
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        db_default=True, default=True, verbose_name="active"
                    ),
                ),
                (
                    "revision",
                    models.PositiveIntegerField(
                        db_default=1, default=1, editable=False
                    ),
                ),
                (
                    "changed_at",
                    models.DateTimeField(
                        db_default=django.db.models.functions.datetime.Now(),
                        editable=False,
                    ),
                ),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("name"), name="one_redaction_a_name"
                    )
                ],
            },
        ),
    ]
