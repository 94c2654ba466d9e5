"""A demonstration: messages of three kinds, some of them broken, and who reads them.

Installed only where BACKOUT_DEMO is set; nothing else knows of it.
"""
