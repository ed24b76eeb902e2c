"""A profile as one self-contained HTML page: the code with heat colours, the counters, the occupancies."""

from __future__ import annotations

from html import escape

from isakit.debug.profile_records import ProfileRecord

_STYLE = """\
body { font: 14px/1.4 system-ui, sans-serif; margin: 2em; color: #222; background: #fff }
table { border-collapse: collapse; margin: 1em 0 }
td, th { padding: 1px 10px; text-align: right }
td.code, th.code { text-align: left; font-family: ui-monospace, monospace; white-space: pre }
th { border-bottom: 1px solid #888 }
"""
_COLUMNS = ("executed", "lanes", "divergent", "half-warps", "coalesced", "transactions", "moved", "used", "serialized")


def page(profile: ProfileRecord) -> str:
    """Return the whole page as HTML."""
    title = escape(f"{profile.kernel or 'kernel'} on {profile.chip}")
    counters = "".join(f"<tr><td class=code>{escape(n)}</td><td>{v}</td></tr>" for n, v in profile.counters.items())
    places = "".join(
        f"<tr><td class=code>{o.chip}</td><td>{100 * o.occupancy:.0f}%</td><td>{o.blocks}</td>"
        f"<td>{o.warps} of {o.most}</td><td class=code>{escape(o.limit)}</td></tr>"
        for o in profile.occupancy
    )
    return (
        f"<!doctype html>\n<html lang=en><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>\n"
        f"<h1>{title}</h1><p>Transactions by the rules of compute capability {escape(profile.capability)}. "
        "Red: executed often; blue: moved many bytes.</p>\n"
        f"{table(profile)}\n<h2>Blocks</h2>{_blocks(profile)}\n<h2>Counters</h2><table>{counters}</table>\n"
        "<h2>Occupancy</h2><table><tr><th class=code>chip</th><th>occupied</th><th>blocks</th><th>warps</th>"
        f"<th class=code>limit</th></tr>{places}</table></html>\n"
    )


def _blocks(profile: ProfileRecord) -> str:
    """Return the blocks with their counts as a table, coloured by the instructions executed in them."""
    most = max((b.instructions for b in profile.blocks), default=1) or 1
    names = ("entered", "executed", "lanes", "divergent", "moved", "serialized")
    rows = "".join(
        f"<tr><td>{b.entered}</td><td style='background:rgba(220,60,30,{0.6 * b.instructions / most:.2f})'>"
        f"{b.instructions}</td><td>{100 * b.lanes / b.possible if b.possible else 0:.0f}%</td><td>{b.divergent or ''}"
        f"</td><td>{b.moved or ''}</td><td>{b.serialized or ''}</td>"
        f"<td class=code>{b.address:04x}-{b.end:04x}  {escape(b.name)}</td></tr>"
        for b in profile.blocks
    )
    head = "".join(f"<th>{n}</th>" for n in names)
    return f"<table><tr>{head}<th class=code>block</th></tr>{rows}</table>"


def table(profile: ProfileRecord) -> str:
    """Return the code with its counts as a table, coloured by cost."""
    lines = profile.instructions
    most = max((x.executions for x in lines), default=1) or 1
    moved = max((x.moved for x in lines), default=1) or 1
    head = "".join(f"<th>{c}</th>" for c in _COLUMNS)
    rows: list[str] = []
    for x in lines:
        heat = f"rgba(220,60,30,{0.6 * x.executions / most:.2f})"
        cold = f"rgba(40,110,220,{0.6 * x.moved / moved:.2f})"
        lanes = f"{100 * x.efficiency:.0f}%" if x.possible else ""
        cells = (x.divergent, x.requests, x.coalesced, x.transactions, x.moved, x.used, x.serialized)
        numbers = "".join(
            f"<td{f' style=background:{cold}' if k == 4 and v else ''}>{v or ''}</td>" for k, v in enumerate(cells)
        )
        rows.append(
            f"<tr><td style=background:{heat}>{x.executions}</td><td>{lanes}</td>{numbers}"
            f"<td class=code>{x.address:04x}  {escape(x.text)}</td></tr>"
        )
    return f"<table><tr>{head}<th class=code>instruction</th></tr>{''.join(rows)}</table>"
