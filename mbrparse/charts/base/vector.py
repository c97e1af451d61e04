from mbrparse.charts.vector import *  # noqa: F403
