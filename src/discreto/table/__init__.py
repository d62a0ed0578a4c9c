"""Tables: rows with a domain and a ledger, and the views of them."""
