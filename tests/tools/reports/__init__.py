"""Reports held to what they must say: by SQL, on a cluster, with a driver that dies.

    sql_comparison   every report beside SQL over the same journal
    cluster          every report on a cluster, and in one process
    killing          a driver that is killed, and one that is not

Each makes a history by the broker's own engine and compares rows, as
``python manage.py with_servers python -m tests.tools.reports.killing``. Tests run them
over a little.
"""
