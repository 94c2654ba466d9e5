"""The Spark session: its Java, its share of the processors, its progress."""
