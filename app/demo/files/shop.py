"""What the demo's three scripts share: the database and the command line."""
import argparse
import datetime
import os
import random
import sqlite3


def business_date(about):
    """The date that --date names."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--date", required=True, type=datetime.date.fromisoformat, help="business date, like 2026-02-03")
    return parser.parse_args().date.isoformat()


def orders_of(date):
    """The shop's orders of a day, as (number, customer, cents); the same whenever they are asked for."""
    dice = random.Random("orders of " + date)
    return [(n, dice.randrange(1, 400), dice.randrange(500, 50000)) for n in range(1, dice.randrange(180, 260))]


def open_database():
    """demo.db beside the scripts. A writer waits for another up to half a minute."""
    db = sqlite3.connect(os.path.join(os.path.dirname(os.path.abspath(__file__)), "demo.db"), timeout=30)
    db.executescript("""
        CREATE TABLE IF NOT EXISTS orders (biz_date TEXT, number INTEGER, customer INTEGER, cents INTEGER, PRIMARY KEY (biz_date, number));
        CREATE TABLE IF NOT EXISTS pays (biz_date TEXT, order_number INTEGER, way TEXT, cents INTEGER, PRIMARY KEY (biz_date, order_number));
        CREATE TABLE IF NOT EXISTS order_stat (biz_date TEXT PRIMARY KEY, orders INTEGER, order_cents INTEGER, pays INTEGER, pay_cents INTEGER);
    """)
    return db


def money(cents):
    return f"{cents // 100:,}.{cents % 100:02d}"
