"""Commands of the command line that are longer than a page, one per file; `cli` puts them together."""
