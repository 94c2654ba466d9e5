"""Alerts: rules find problems, and notifications tell people.

``evaluation``   compares what is wrong now, by the condition of a rule, with the open
                 alerts: pending, firing, resolved
``owed``         who is to be told what: recipients, quiet hours, escalation, repeats
``notifications``  puts what is owed as messages, in the transaction of the change
``handler``      sends these messages; the dispatcher runs it
``channels``     e-mail, webhook, Slack, PagerDuty
``outbound``     the only way to the network over HTTP: guarded against SSRF
``acts``         what people do: acknowledge, silence, test
``sight``        which problems and alerts a user may see
``editing``      rules and targets: checked, stored, audited
"""
