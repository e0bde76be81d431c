"""What the compiled entry point of a learner can be asked for: one table for all of them, read as `tasks.RUN`.

Each entry point says in its docstring which tasks it takes and what they do. The order matters in one place:
`per_arc.run` takes ASK, TELL and TEST for single steps, and RUN and FINISH, which come last, for whole runs.
"""

ASK, TELL, TEST, SET_UP, ADVISE, DROP, MEASURE = range(7)
PLAN, AGAIN, REFRESH, INCUMBENT, CERTIFY, CHECK = range(7, 13)
RUN, FINISH = range(13, 15)
