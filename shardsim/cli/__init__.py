"""The command line: a file for each group of commands.

Results go to stdout, diagnostics to stderr. Exit 0 ok, 1 an expectation failed, 2 bad input. Every
command imports what it needs when it runs, so `--help` is quick.

    scenarios.py      run, plan, compare
    collectives.py    collective
    rooflines.py      roofline
    books.py          book
    modelling.py      model
    showing.py        show
    verifying.py      verify
    options.py        the options of several commands, each written once
    arguments.py      what the arguments of a command name: a file, notation, what is missing
    output.py         what is written where, and the exit codes
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from shardsim.cli.arguments import refuse_arrows
from shardsim.cli.books import book
from shardsim.cli.collectives import collective
from shardsim.cli.modelling import model
from shardsim.cli.output import BAD_INPUT, EXPECTATION_FAILED, prepare_streams, say, write
from shardsim.cli.rooflines import roofline
from shardsim.cli.scenarios import compare, plan, run
from shardsim.cli.showing import show
from shardsim.cli.verifying import verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="shardsim",
    help="What a sharded matmul costs on an accelerator mesh, and why.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        from shardsim import __version__

        write(f"shardsim {__version__}\n")
        raise typer.Exit


app.command(short_help="Plan and simulate: tables, totals and a strip chart.")(run)
app.command(short_help="Plan only: the steps, the rules, the other ways.")(plan)
app.command(short_help="The strategies of a scenario file, side by side.")(compare)
app.command(short_help="One collective: its time three ways, and bandwidths.")(collective)
app.command(short_help="What binds one chip, and for which extent that changes.")(roofline)
app.command(short_help="Parameters, FLOPs, memory and times of a transformer.")(model)
app.command(short_help="The worked numbers of the book, worked out again.")(book)
app.command(short_help="Show a topology, or who holds what of a sharding.")(show)
app.command(short_help="Check a machine: laws, closed forms, real numbers.")(verify)


def main() -> None:
    """The entry point: faults become a message on stderr and an exit code, never a traceback."""
    from shardsim.errors import InputError, ShardsimError

    prepare_streams()
    try:
        refuse_arrows(sys.argv[1:])
        app(prog_name="shardsim")
    except ShardsimError as error:
        say(f"error: {error}")
        sys.exit(BAD_INPUT if isinstance(error, InputError | ValueError) else EXPECTATION_FAILED)
