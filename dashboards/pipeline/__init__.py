"""One run of a report: Spark turns the journal into bronze, silver and gold.

The modules, in the order in which data passes through them:

=================== ==================================================================
``bronze``          copies windows of the journal to Parquet files by day
``fields``          the columns of events, and of the messages that were put by them
``manifest``        the list of current files, and how files are replaced
``archive``         where the files are: a folder, or an object store (``remote_path``)
``compaction``      merges the files of a past day; deletes data past its retention
``sources``         reads listed files as data frames
``events``          splits events into lines: one entry and one event
``timelines``       sorts the lines of entries, and finds their stays and deliveries
``silver_rows``     builds deliveries, lifelines and open stays from timelines
``silver_tasks``    the same as tasks of Spark, which write the files
``silver``          the columns of these tables, and checks of a day
``link_transfers``  builds transfers from events of links; they are silver, too
``silver_days``     which days of silver must be built, building and publishing them
``gold``            builds a report's rows, and checks them by ``totals``
``report_rows``     publishes them; ``minute_rows`` reads those of minutes
``run``             one run: the steps above
=================== ==================================================================

Also: ``runs`` requests and cancels runs and keeps their states, ``progress`` updates
the progress of a run, ``locks`` tells whether the process of a run is alive. Pages
import only ``runs`` and ``locks``, which do not need Spark.
"""
