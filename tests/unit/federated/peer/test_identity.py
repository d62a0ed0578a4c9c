"""Signatures of nodes: who said it, and that an authority vouches for the name."""

from __future__ import annotations

import pytest
from identities import Issuer

from discreto.errors import ParameterError
from discreto.federated.https import Certificates
from discreto.federated.peer.identity import Identity

ISSUER = Issuer()
NORTH, SOUTH = ISSUER.identity("north"), ISSUER.identity("south")


def test_a_node_accepts_what_the_named_node_signed():
    proof = NORTH.sign(b"5 rows")
    assert SOUTH.accepts("north", b"5 rows", proof)
    assert not SOUTH.accepts("north", b"6 rows", proof)
    assert not SOUTH.accepts("east", b"5 rows", proof)
    mixed = proof | {"certificate": SOUTH.sign(b"")["certificate"]}
    assert not SOUTH.accepts("south", b"5 rows", mixed)
    assert not SOUTH.accepts("north", b"5 rows", mixed)


@pytest.mark.parametrize(
    "proof",
    [
        None,
        {},
        [],
        {"certificate": "", "signature": ""},
        {"certificate": 5, "signature": "AA=="},
        {"certificate": "not base 64", "signature": "AA=="},
        {"certificate": "A" * 10**5, "signature": "AA=="},
    ],
)
def test_what_is_not_a_proof_is_not_accepted(proof):
    assert not SOUTH.accepts("north", b"", proof)


def test_the_authority_must_have_issued_it_and_it_must_be_valid():
    stranger = Issuer().identity("north")  # an authority of the same name
    assert not SOUTH.accepts("north", b"x", stranger.sign(b"x"))
    with pytest.raises(ParameterError, match="issued by"):
        ISSUER.identity("north", days_ago=3)
    with pytest.raises(ParameterError, match="cannot be read"):
        Identity.read(Certificates("no.crt", "no.key", "no.ca"))
