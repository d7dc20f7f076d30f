"""The command `trocar` as a process of its own, also `python -m trocar`."""

import io
import signal
import sys


def program() -> None:
    """Run the command line. SIGTERM acts as Ctrl-C, by which commands keep what they have.

    Ctrl-C while the commands are imported, or again while they end, prints no traceback.
    """
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal of ASCII shows other characters by their numbers
            sys.stdout.reconfigure(errors="backslashreplace")
        from trocar.cli import app

        app(prog_name="trocar")
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("interrupted", file=sys.stderr)
        sys.exit(130)
    finally:
        # Graphics and threads take a moment to close; all files are complete by now.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if "trocar.files" in sys.modules:
            sys.modules["trocar.files"].remove_temporaries()  # of other threads


if __name__ == "__main__":
    program()
