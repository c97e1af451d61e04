"""What the columns of a page's table mean, in a line each (``criteria``, ``evalb_counts``)."""

from __future__ import annotations

MEANINGS = {
    "labelled_tree": "Sentences whose tree is right in all constituents and labels.",
    "labelled_recall": "Constituents of the gold trees that the parses have, with their label.",
    "bracketed_recall": "Constituents of the gold trees that the parses have, whatever their label.",
    "consistent_brackets_recall": "Constituents of the parses that cross no constituent of the gold tree.",
    "consistent_brackets_tree": "Sentences whose tree crosses no constituent of the gold tree.",
    "bracketed_tree": "Sentences whose tree is right in all constituents, whatever their labels.",
    "labelled_precision": "Constituents of the parses that the gold trees have, with their label.",
    "labelled_f": "The harmonic mean of labelled recall and precision.",
    "bracketed_precision": "Constituents of the parses that the gold trees have, whatever their label.",
    "bracketed_f": "The harmonic mean of bracketed recall and precision.",
    "coverage": "Sentences with a parse.",
    "fell_back": "Sentences for which the parser had to fall back to a simpler tree.",
    "bracketing_recall": "Brackets of the gold trees that the parses have, as EVALB counts them.",
    "bracketing_precision": "Brackets of the parses that the gold trees have, as EVALB counts them.",
    "bracketing_f": "The harmonic mean of recall and precision.",
    "complete_match": "Sentences in which all brackets match.",
    "average_crossing": "Brackets of a parse that cross the gold's, per sentence.",
    "no_crossing": "Sentences without a crossing bracket.",
    "two_or_less_crossing": "Sentences with two crossing brackets at most.",
    "tagging_accuracy": "Words with the right tag.",
}
