"""The blocks of the pages, each run for what it is: by kind, or by its page.

``tests/test_blocks.py`` walks over all of them. ``left_out`` has what is not run here.
"""
