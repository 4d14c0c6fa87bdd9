"""Run the commands as ``python -m vmfstream``."""

from vmfstream.cli import main

main()
