"""Programs that make images, weights and words ready to be read by runs."""
