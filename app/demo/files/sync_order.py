"""Makes the orders of one business date and loads them. A date that is loaded again is replaced as a whole."""
import csv
import io

import shop

date = shop.business_date(__doc__)

# The shop's own system would give this file; here it is made.
extract = io.StringIO()
csv.writer(extract).writerows(shop.orders_of(date))
print(f"extracted {len(extract.getvalue().splitlines())} orders of {date}")

extract.seek(0)
rows = [(date, int(number), int(customer), int(cents)) for number, customer, cents in csv.reader(extract)]
with shop.open_database() as db:
    db.execute("DELETE FROM orders WHERE biz_date = ?", (date,))
    db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
print(f"loaded {len(rows)} orders, {shop.money(sum(row[3] for row in rows))} in all")
