"""The results as pictures."""

import matplotlib

matplotlib.use("svg")
# The same picture from the same results: texts as texts, and no random names.
matplotlib.rcParams.update({"svg.hashsalt": "pg_claims", "svg.fonttype": "none", "font.size": 9, "axes.grid": True,
                            "grid.alpha": 0.3, "axes.spines.top": False, "axes.spines.right": False})

from matplotlib import pyplot  # noqa: E402  after the backend is chosen
from matplotlib.ticker import FuncFormatter  # noqa: E402

# pg_claims is always the first of its cell.
COLOURS = ["#0b5394", "#cc4125", "#e69138", "#888888", "#6aa84f"]
BY_CLIENTS = ["claim-new", "claim-taken", "keys", "booking", "units", "periods", "redis"]


def draw(results, folder):
    """Draws what there is to draw; the files, and what each shows."""
    by_name = {result["work"]: result for result in results}
    drawn = {}
    for name, title, picture in [
        ("throughput.svg", "Throughput by clients", throughput(by_name)),
        ("latency.svg", "Latency percentiles", latency(by_name)),
        ("growth.svg", "Cost by table size, a slot's millionth claim, and a session's memory", growth(by_name)),
    ]:
        if picture:
            picture.savefig(folder / name, metadata={"Date": None}, bbox_inches="tight")
            pyplot.close(picture)
            drawn[name] = title
    return drawn


def throughput(results):
    panels = []
    for name in BY_CLIENTS:
        groups = {}
        for cell in results.get(name, {}).get("cells", []):
            kind = (tuple(cell["subjects"]), cell["protocol"], cell["synchronous_commit"])
            groups.setdefault(kind, []).append(cell)
        panels += [(results[name]["title"], kind, cells) for kind, cells in groups.items() if len(cells) > 1]
    if not panels:
        return None
    picture, axes = grid(len(panels))
    for axis, (title, (subjects, protocol, commit), cells) in zip(axes, panels):
        clients = [cell["clients"] for cell in cells]
        for colour, subject in zip(COLOURS, subjects):
            runs = [[run["per_second"] for run in cell["subjects"][subject]["rounds"]] for cell in cells]
            middle = [cell["subjects"][subject]["median"]["per_second"] for cell in cells]
            axis.plot(clients, middle, marker="o", color=colour, label=subject)
            axis.fill_between(clients, [min(run) for run in runs], [max(run) for run in runs], color=colour, alpha=0.12)
        axis.set(title=f"{title}\n{protocol}, synchronous_commit {commit}", xlabel="clients", xscale="log")
        axis.set_xticks(clients, [str(number) for number in clients])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axis.legend(fontsize=7, frameon=False)
    axes[0].set_ylabel("per second")
    return picture


def latency(results):
    """The percentiles under the middle one of the loads."""
    rows = []
    for name in BY_CLIENTS:
        cells = [cell for cell in results.get(name, {}).get("cells", [])
                 if cell["protocol"] == "prepared" and cell["synchronous_commit"] == "on"]
        for cell in sorted(cells, key=lambda cell: abs(cell["clients"] - 8))[:2 if name == "keys" else 1]:
            rows += [(f"{results[name]['title']}: {subject}", place, runs["median"])
                     for place, (subject, runs) in enumerate(cell["subjects"].items())]
    if not rows:
        return None
    picture, axis = pyplot.subplots(figsize=(9, 0.26 * len(rows) + 1))
    for height, (_, place, one) in enumerate(reversed(rows)):
        colour = COLOURS[place % len(COLOURS)]
        axis.plot([one["p50_ms"], one["p99_ms"]], [height] * 2, color=colour, linewidth=1.5)
        for percentile, marker in (("p50_ms", "o"), ("p95_ms", "|"), ("p99_ms", ">")):
            axis.plot(one[percentile], height, marker=marker, color=colour)
    axis.set_yticks(range(len(rows)), [label for label, _, _ in reversed(rows)], fontsize=8)
    axis.set(xscale="log", xlabel="milliseconds: median (dot), 95th percentile (bar), 99th (arrow)",
             title="8 clients, prepared, synchronous_commit on")
    return picture


def growth(results):
    wanted = [name for name in ("sizes", "churn", "memory") if name in results]
    if not wanted:
        return None
    picture, axes = grid(len(wanted))
    for axis, name in zip(axes, wanted):
        result = results[name]
        if name == "sizes":
            for colour, cell, label in zip(COLOURS, result["cells"], ("claim of a new slot", "claim of a booked slot")):
                axis.plot(result["sizes"], [runs["median"]["p50_ms"] * 1000 for runs in cell["subjects"].values()],
                          marker="o", color=colour, label=label)
            axis.set(title="Cost by table size", xlabel="booked rows", xscale="log", ylabel="microseconds a call (median)")
            axis.legend(fontsize=7, frameon=False)
        elif name == "churn":
            axis.plot(range(1, 11), result["tenths"], marker="o", color=COLOURS[0])
            axis.set(title="One slot claimed and released over and over", xlabel="tenth of the run", ylabel="times a second")
        else:
            sizes = result["sizes_kb"]
            axis.plot([100 * place / max(len(sizes) - 1, 1) for place in range(len(sizes))], [size / 1024 for size in sizes], color=COLOURS[0])
            axis.set(title="Memory of one session", xlabel="per cent of its calls", ylabel="MB")
        axis.set_ylim(bottom=0)
    return picture


def grid(panels):
    columns = min(panels, 3)
    rows = -(-panels // columns)
    picture, axes = pyplot.subplots(rows, columns, figsize=(4.2 * columns, 3.2 * rows), squeeze=False, layout="constrained")
    for spare in axes.flat[panels:]:
        spare.set_visible(False)
    return picture, list(axes.flat)
