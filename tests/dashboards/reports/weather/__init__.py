"""An application that brings a report of its own."""
