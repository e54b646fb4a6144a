"""Tables in and out: reading, checking, encounters, simulation."""
