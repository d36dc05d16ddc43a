"""Everything that the configuration of this study can say, as pydantic models.

`configuration` is the section of the study. `experiments` makes a job of every run from it. The
other modules are the settings of these jobs, one module for each kind of program that reads them:
`data`, `networks`, `training`, `heads`, `measuring` and `metrics`. Nothing is computed here.
"""
