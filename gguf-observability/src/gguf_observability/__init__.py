"""Where the memory of a served model goes, and whether its profile holds."""
