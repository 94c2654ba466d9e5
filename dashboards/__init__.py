"""Numbers: now, on live pages, and over time, in reports. Changes nothing.

The packages, from the top down; each imports only those below it:

================================ =====================================================
``management``, ``tasks``        commands, and what Celery calls
``urls``, ``routing``, ``admin`` pages, sockets, and schedules under Settings
``metrics``                      the broker in numbers for Prometheus
``pages``                        a report as a person sees it
``live``                         numbers on open pages, sent over sockets
``pipeline``                     one run of a report: journal, bronze, silver, gold
``reports``                      one module a report, and what a report declares
``spark``                        the Spark session
``models``, ``sql``              the tables; statements
================================ =====================================================
"""
