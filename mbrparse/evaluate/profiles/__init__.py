"""Profiles: named ways of counting, each as a published evaluation has it."""
