"""What has to be done on time, whoever does it.

``work`` has the functions. Celery calls them (``broker.tasks``), or, where no worker of
Celery runs, a thread of a dispatcher (``housekeeper``). ``pacing`` has the steps of
operations, for whoever works off one.
"""
