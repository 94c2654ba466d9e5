"""How Settings writes times: as the other pages of the console."""
