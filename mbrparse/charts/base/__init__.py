"""What every kind of chart is made of: rules as tables, the packed forest, posteriors of spans, the clock."""
