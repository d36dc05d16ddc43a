"""One job: its program, its checkpoints, and the download of its data.

A process starts here with the arguments that the plan gave, and writes one file or a few. This room
imports the documents of jobs and their marks from `plan`, and programs that judge and draw.
"""
