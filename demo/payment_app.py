"""The payment: a program of its own, like the one that a workflow charges a card with.

    POST /                {"event": "...", "run": "..."}
    GET  /?event=...      the charges that were made for it

Usage: payment_app.py LOGFILE     prints the port it listens on
"""

from app import serve

serve("ch")
