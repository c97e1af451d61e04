"""What the true n-ary tree may cross: probabilities that come of a chart with some of its cells closed."""
