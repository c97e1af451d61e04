"""The version of the package: nothing else, so that whoever prints it imports nothing else."""

__version__ = "0.1.0"
