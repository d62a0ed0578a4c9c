"""The trusted core: most of what the privacy guarantee rests on.

Readers, engines and tables are trusted as well; ``docs/architecture.md`` counts all.

Read it from the bottom up::

    sampled_steps  many Gaussian steps that were paid for, taken one by one
    gate           the ways out: charge, fold, add noise; what it needs of rows
    randomise      rows that are perturbed one by one
    unknown_keys   values that many rows have, of a column without a list of values
    query_fold     sums of a database, checked against the rows that it counted
    fold           each part of a table is folded exactly once
    aggregate      rows become bounded integers, sums are exact
    row_program    what becomes of one row: a small language and its runner
    row_cache      what is kept about rows between questions
    steps          what many steps cost together, and their noise
    query          questions as data, their sensitivities, and questions that are bound
    validation     forms of questions, stated in annotations, checked before a charge
    charge         receipts and reservations: what the gate needs of a ledger
    cost           epsilon, rho and (epsilon, delta) in exact fractions; what fits
    expressions/   derived columns and filters, row by row
    history        earlier rows of the same person beside each row
    joins          rows of two tables of the same people
    people         no person has more than a few rows
    domain/        what is public

    maps/          row maps, scores and functions of sums, each with its sensitivity
    noise/         how much noise, exact draws of it, secret bits
    ledger/        what was spent, durably
    accounting     noise of steps on random samples

It needs numpy, cryptography and the standard library (accounting of samples also
dp-accounting). Everything outside only ever sees what the gate lets out.
"""
