"""The Spark session: its Java, its share of the processors, how far it is."""
