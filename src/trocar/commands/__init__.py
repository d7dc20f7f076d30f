"""Commands of the command line, one per file; `trocar.cli` puts them together. Nothing to import from scripts."""
