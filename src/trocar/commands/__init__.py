"""Commands of the command line, one per file; `trocar.cli` assembles them. Not meant to be imported by scripts."""
