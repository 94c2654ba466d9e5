"""The doors: REST, command line and forms, made from declarations of acts."""
