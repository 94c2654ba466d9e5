"""Sockets and who is behind them: login, rights, limits, the console's register."""
