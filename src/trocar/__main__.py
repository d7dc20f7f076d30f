"""`python -m trocar` is the command `trocar`."""

from trocar.cli import app

if __name__ == "__main__":
    app(prog_name="trocar")
