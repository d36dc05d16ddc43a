"""Linear heads on features: probes and calibration. No study: what several of them share."""
