"""Pereira & Schabes (1992): what brackets do for training, on palindromes."""
