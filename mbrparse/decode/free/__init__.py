"""The free space: any binary tree, from posteriors of spans alone."""
