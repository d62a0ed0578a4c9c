"""The trusted core: everything that the privacy guarantee rests on, and nothing else.

Read it from the bottom up::

    training       many Gaussian steps that were paid for, taken one by one
    gate           the ways out: charge, fold, add noise
    answers        what it gives
    randomised_rows  rows that are perturbed one by one
    unknown_keys   values that many rows have, of a column that nobody has listed
    source         what the gate needs of rows, and of an engine
    aggregate      rows become bounded integers, sums are exact
    validation     everything that can be wrong with a question, before it is paid for
    steps          what many steps cost together, and their noise
    query          questions as data, and their sensitivities
    charge         receipts and reservations: what the gate needs of a ledger
    budget         what fits, whoever chooses among all kinds of charges
    cost           epsilon, rho and (epsilon, delta) in exact fractions
    expressions/   derived columns and filters, row by row
    history        earlier rows of the same person beside each row
    joins          rows of two tables of the same people
    contribution   no person has more than a few rows
    domain         what is public

    maps/          row maps, scores and functions of sums, each with its sensitivity
    noise/         how much noise, exact draws of it, secret bits
    ledger/        what was spent, durably
    accounting     noise of steps on random samples

It needs numpy, cryptography and the standard library (accounting of samples also
dp-accounting). Everything outside only ever sees what the gate lets out.
"""
