"""`python -m shardsim` is the command `shardsim`."""

from shardsim.cli import main

main()
