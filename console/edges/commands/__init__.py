"""The command line: acts as subcommands, options, output."""
