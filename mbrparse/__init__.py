"""mbrparse: parse a sentence for the measure it will be judged by."""

__version__ = "0.1.0"
