"""The part of the page in which learning rates are turned and scan and snap is watched."""
