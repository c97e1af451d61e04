from mbrparse.charts.chart import derivation_of  # noqa: F401
from mbrparse.charts.spans import *  # noqa: F403
