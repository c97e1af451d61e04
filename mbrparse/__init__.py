"""mbrparse: minimum Bayes risk parsing, for the criterion that trees are evaluated by.

From a treebank to a table, in a notebook::

    import mbrparse as mp

    trees = mp.read_trees("nltk:treebank")
    train, test = mp.split(trees, 0.1)
    grammar = mp.train(train)
    parses = mp.Parser(grammar, "labelled-recall", "labelled-tree").parse(test)
    mp.compare(test, parses)

Names are imported on first use, so that importing the package loads no large library.
"""

import lazy_loader

# The public names with their modules are in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
