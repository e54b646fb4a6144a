"""calibdash: the calibration of every sensor in a network, over time, with its uncertainty."""

__version__ = "0.1.0"
