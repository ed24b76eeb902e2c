"""A course: twelve exercises over the three machines, each with a check that runs what the student wrote.

| module | what it does | |---|---| | `exercises` | reads the exercises: a TOML file each, in the folder of that name |
| `checks` | one function per exercise, which runs the student's file and reports each requirement | | `given` | files
that are made, not written: words, a cubin, a scene |
"""
