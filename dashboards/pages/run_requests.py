"""The parameters of a run, as a form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext

from broker.security import authorities
from dashboards.acts import require_queue
from dashboards.reports import Parameter, Report

FIELDS: Mapping[str, type[forms.Field]] = {
    "text": forms.CharField,
    "count": forms.IntegerField,
    "number": forms.FloatField,
    "day": forms.DateField,
}

LONGEST = 500  # the most characters for each line of a text field


class ParametersForm(forms.Form):
    """The parameters of a report, as a form."""

    def __init__(
        self,
        report: Report,
        user: authorities.Principal,
        said: QueryDict | None = None,
        start: Mapping[str, Any] | None = None,
    ) -> None:
        start = {one.name: one.default for one in report.parameters} | dict(start or {})
        super().__init__(said, initial=start, auto_id="parameter-%s")
        self.report, self.user = report, user
        for one in report.parameters:
            self.fields[one.name] = field_of(one)

    def clean(self) -> dict[str, Any]:
        said = {n: v for n, v in (super().clean() or {}).items() if v is not None}
        for one in self.report.parameters:
            if one.name in said:
                try:
                    said[one.name] = one.read(said[one.name])
                except ValueError as error:
                    self.add_error(one.name, str(error))
        try:
            require_queue(self.user, self.report, said)
        except ValueError as error:
            self.add_error("queue", str(error))
        return said


def field_of(one: Parameter) -> forms.Field:
    about: dict[str, Any] = {
        "label": gettext(one.title),
        "help_text": gettext(one.note),
        "required": one.type != "text" or bool(one.default),
    }
    if one.choices:
        choices = [(choice, gettext(str(choice))) for choice in one.choices]
        return forms.TypedChoiceField(choices=choices, coerce=one.read, **about)
    if one.type == "text":
        about["max_length"] = one.lines * LONGEST
        if one.lines > 1:
            about["widget"] = forms.Textarea(attrs={"rows": one.lines})
    if one.type == "day":
        about["widget"] = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    return FIELDS[one.type](**about)
