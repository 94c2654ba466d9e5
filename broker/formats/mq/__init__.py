"""Formats of IBM MQ: descriptors and headers. Pure values, without a database."""
