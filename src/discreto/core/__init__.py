"""The trusted core: everything that the privacy guarantee rests on.

Read it from the bottom up::

    training   many Gaussian steps, paid for as one (epsilon, delta) block
    gate       measure, select, randomise: charge, fold, add noise
    clamp      rows become bounded integers, sums are exact
    validation whatever can be wrong with a question, before it is paid for
    query      questions as data, and their sensitivities
    sampler    exact integer noise
    charge     receipts and reservations: what the gate needs of a ledger
    cost       epsilon, rho and (epsilon, delta) in exact fractions
    domain     what is public
    forms      what a part of a question, or JSON from outside, may look like
    entropy    secret bits

It needs numpy, cryptography and the standard library. Everything above it only ever
sees what the gate lets out.
"""
