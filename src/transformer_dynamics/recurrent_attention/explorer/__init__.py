"""The part of the page in which two tokens are turned and their energy is watched."""
