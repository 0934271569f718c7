"""The report of peers.py as an SVG: one group a model and thread count, one bar an engine, relative to the fastest peer."""
from html import escape

COLOURS = {"heddle": "#b5532a", "onnxruntime": "#4a6fa5", "openvino": "#7a9e7e"}
ROW, LEFT, WIDTH = 16, 190, 520


def bars(report):
    lines, y = [], 46
    for entry in report["results"]:
        times = {engine: row.get("median_ms") for engine, row in entry["engines"].items()}
        peers = [t for engine, t in times.items() if t and engine != "heddle"]
        best = min(peers) if peers else 1
        label = f"{entry['model']}, {entry['threads']} thread{'s' if entry['threads'] > 1 else ''}"
        lines.append(f'<text x="{LEFT - 8}" y="{y + 27}" text-anchor="end">{escape(label)}</text>')
        for engine, time in times.items():
            if time:
                width = min(WIDTH, WIDTH * time / best / 3)
                lines.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{ROW - 3}" fill="{COLOURS[engine]}"/>')
                lines.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 10}">{time:.3g} ms, {time / best:.2f}</text>')
            y += ROW
        y += 14
    one = LEFT + WIDTH / 3
    legend = "".join(f'<rect x="{LEFT + 130 * i}" y="26" width="10" height="10" fill="{colour}"/>'
                     f'<text x="{LEFT + 14 + 130 * i}" y="35">{engine}</text>' for i, (engine, colour) in enumerate(COLOURS.items()))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 140}" height="{y + 10}" '
            f'font-family="sans-serif" font-size="11" fill="#222"><rect width="100%" height="100%" fill="white"/>'
            f'<text x="{LEFT}" y="16" font-size="13">Median latency relative to the fastest peer (line), {escape(report["cpu"])}</text>'
            f'{legend}{"".join(lines)}<line x1="{one}" y1="42" x2="{one}" y2="{y}" stroke="#222" stroke-dasharray="3 3"/></svg>\n')
