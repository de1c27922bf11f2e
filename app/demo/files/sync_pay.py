"""Makes the payments of one business date and loads them. A date that is loaded again is replaced as a whole."""
import csv
import io
import random

import shop

date = shop.business_date(__doc__)
dice = random.Random("payments of " + date)

# Nineteen orders in twenty are paid. The payment provider would give this file; here it is made.
extract = io.StringIO()
csv.writer(extract).writerows(
    (number, dice.choice(["card", "transfer", "wallet"]), cents)
    for number, _, cents in shop.orders_of(date) if dice.random() < 0.95)
print(f"extracted {len(extract.getvalue().splitlines())} payments of {date}")

extract.seek(0)
rows = [(date, int(number), way, int(cents)) for number, way, cents in csv.reader(extract)]
with shop.open_database() as db:
    db.execute("DELETE FROM pays WHERE biz_date = ?", (date,))
    db.executemany("INSERT INTO pays VALUES (?, ?, ?, ?)", rows)
print(f"loaded {len(rows)} payments, {shop.money(sum(row[3] for row in rows))} in all")
