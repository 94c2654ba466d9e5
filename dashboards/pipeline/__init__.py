"""One run of a report: the journal becomes bronze, silver and gold, by Spark.

The way of an event to a number on a page:

=================== ==================================================================
``bronze``          windows of the journal become Parquet files by day, each listed
``message_fields``  and so do the fields of the messages that were put in them
``manifest``        which files are listed, and how others take their place
``compaction``      a day that is over becomes one file; what is too old goes
``sources``         listed files become frames
``events``          events become lines: one entry, one thing that happened, in order
``silver``          lines become deliveries, life-lines, and what is open
``link_transfers``  events of links become transfers, which are silver, too
``silver_days``     which days are to be made (again); making and publishing one
``gold``            a report's rows of days or of a run, checked and published
``run``             one run: the steps above
=================== ==================================================================

Beside these: ``runs`` asks for a run, cancels it and knows what became of it,
``progress`` says how far it is, ``locks`` tells whether its process lives. Pages import
``runs`` and ``locks`` only, which go without Spark.
"""
