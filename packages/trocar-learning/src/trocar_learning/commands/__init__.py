"""Commands that this package adds to the command line; `contents` lists them."""
