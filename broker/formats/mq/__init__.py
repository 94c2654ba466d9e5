"""What IBM MQ's own clients and files are written in: codes, descriptors, headers.

Values and bytes; nothing here knows the database or a setting.
"""
