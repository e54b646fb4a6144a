"""How good a calibration is: figures, and studies on simulated truth."""
