"""The engine: from colocations to the posterior of every sensor's calibration over time."""

import os

# TensorFlow reads these when it is first imported; it would greet every user of the command line with a page of
# messages about processors and graphics cards that none of them can act on.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
