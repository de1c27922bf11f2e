"""Draws small tables of text."""


def draw(rows, lined=False):
    """Gives the lines of a table whose first row is its head."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(str(cell).ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows]
    if lined:
        lines.insert(1, "  ".join("-" * w for w in widths))
    return lines
