"""Numbers: now, on live pages, and over time, in reports. Changes nothing."""
