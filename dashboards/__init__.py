"""Numbers: now, on live pages, and over time, in reports. Changes nothing.

The packages, from the top down; each imports only those below it:

================================ =====================================================
``management``, ``tasks``        commands; Celery tasks
``urls``, ``routing``, ``admin`` pages, sockets, and schedules under Settings
``metrics``                      metrics for Prometheus
``kinds``                        schedules of reports as objects at all doors
``pages``                        pages of reports
``live``                         live numbers, sent over sockets
``acts``                         orders to run a report and to cancel a run
``pipeline``                     one run of a report: journal, bronze, silver, gold
``reports``                      one module a report, and what a report declares
``spark``                        the Spark session
``models``, ``sql``              the tables; statements
================================ =====================================================
"""
