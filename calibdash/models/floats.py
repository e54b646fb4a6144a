"""The one floating-point type of the engine."""

from __future__ import annotations

import tensorflow as tf

FLOAT = tf.float64
