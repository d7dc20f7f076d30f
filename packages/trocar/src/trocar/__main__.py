"""`python -m trocar` is the command `trocar`."""

from trocar.cli import program

if __name__ == "__main__":
    program()
