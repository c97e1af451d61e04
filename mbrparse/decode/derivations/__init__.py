"""Search among the grammar's own trees: item posteriors from a forest, the best tree for each objective."""
