"""The calendar: a program of its own, like the one that a workflow books in.

    POST /   {"slot": "...", "run": "..."}

Usage: calendar_app.py LOGFILE     prints the port it listens on
"""

from app import serve

serve("ev")
