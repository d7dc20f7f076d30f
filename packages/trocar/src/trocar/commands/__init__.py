"""Commands of the command line, one per file; `contents` lists them, `trocar.cli` assembles them."""
