"""The doors: acts as operations of REST, as subcommands, as forms; errors in words."""
