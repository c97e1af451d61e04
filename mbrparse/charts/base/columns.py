from mbrparse.charts.chart import derivation_of as derivation_of
from mbrparse.charts.spans import *  # noqa: F403
