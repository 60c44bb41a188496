"""Tables that a narrow window can stack: every cell knows the heading of its column."""

from lxml import html


def stackable(text: str) -> str:
    """Return HTML whose tables with headings have them in every cell, for the style sheet to show in narrow windows."""
    page = html.fragment_fromstring(text, create_parent="div")
    for table in page.iter("table"):
        headings = [cell.text_content().strip() for row in table.findall("thead/tr") for cell in row]
        if headings:
            table.set("class", f"{table.get('class', '')} shoal-figures".strip())
        for row in table.findall("tbody/tr"):
            for heading, cell in zip(headings, row, strict=False):
                if cell.tag == "td":
                    cell.set("data-label", heading)
    return str(html.tostring(page, encoding="unicode"))
