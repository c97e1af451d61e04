"""Objectives beyond recall, beside Goodman's (1996): n-ary trees and F, consistent brackets."""
