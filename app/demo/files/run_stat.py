"""Sums the orders and payments of one business date. It trusts that both are loaded: AX starts it only then."""
import sys

import shop

date = shop.business_date(__doc__)
with shop.open_database() as db:
    orders, order_cents = db.execute("SELECT COUNT(*), COALESCE(SUM(cents), 0) FROM orders WHERE biz_date = ?", (date,)).fetchone()
    pays, pay_cents = db.execute("SELECT COUNT(*), COALESCE(SUM(cents), 0) FROM pays WHERE biz_date = ?", (date,)).fetchone()
    if not orders or not pays:
        sys.exit(f"{date} has {orders} orders and {pays} payments loaded: run sync_order.py and sync_pay.py for it first")
    db.execute("REPLACE INTO order_stat VALUES (?, ?, ?, ?, ?)", (date, orders, order_cents, pays, pay_cents))
    by_way = db.execute("SELECT way, COUNT(*), SUM(cents) FROM pays WHERE biz_date = ? GROUP BY way ORDER BY way", (date,)).fetchall()

print(f"statistics of {date}")
print(f"  orders    {orders:5d}  {shop.money(order_cents):>14}")
print(f"  payments  {pays:5d}  {shop.money(pay_cents):>14}")
for way, count, cents in by_way:
    print(f"    {way:<8}{count:5d}  {shop.money(cents):>14}")
print(f"  unpaid    {orders - pays:5d}  {shop.money(order_cents - pay_cents):>14}")
