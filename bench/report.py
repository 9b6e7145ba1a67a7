"""The results as files, as tables in bench/README.md, and on the screen."""

import json
from pathlib import Path

import machine
import plots
from measure import Load

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- results: written by scripts/bench.sh report -->", "<!-- end of results -->"


def save(result, path):
    path.write_text(json.dumps(result, indent=1, default=float) + "\n", encoding="utf-8")


def show(result):
    """Prints what was measured and how it stands to its bars."""
    print(f"\n{result['title']}. {result['note']}")
    for figure in result.get("figures", []):
        print(f"  {figure['what']:<44} {figure['value']:>14,} {figure['unit']}")
    for cell in result.get("cells", []):
        print(f"  {load(cell)}")
        for name, runs in cell["subjects"].items():
            one = runs["median"]
            print(f"    {name:<40} {one['per_second']:>9,.0f}/s   p50 {one['p50_ms']:8.3f} ms   p95 {one['p95_ms']:8.3f} ms"
                  f"   p99 {one['p99_ms']:8.3f} ms   {wal(one)}")
    for bar in result.get("bars", []):
        print("  " + "; ".join(filter(None, [bar["what"], bar["load"], *cells_of(bar)])), flush=True)


def load(cell):
    return str(Load(cell["clients"], cell["protocol"], cell["synchronous_commit"]))


def wal(one):
    return "" if one["wal_bytes"] is None else f"{one['wal_bytes']:,.0f} bytes of WAL"


def cells_of(bar):
    """A bar's value, what it should be, and whether it is."""
    spread = f" ({bar['from']:.2f} to {bar['to']:.2f})" if "from" in bar else ""
    value = f"{bar['value']:.2f}{spread}"
    wanted = [f"{word} {bar[name]:g}" for name, word in (("least", "at least"), ("most", "at most"), ("aim", "aim"))
              if bar.get(name) is not None]
    return value, ", ".join(wanted), {True: "reached", False: "NOT reached", None: ""}[bar["reached"]]


def write(results):
    """Puts the tables and the plots into bench/README.md, and the main ones into the project's."""
    if not results:
        raise SystemExit("there are no results in bench/results yet: make bench")
    pictures = plots.draw(results, HERE / "results")
    replace(HERE / "README.md", body(results, {f"results/{name}": title for name, title in pictures.items()}))
    replace(HERE.parent / "README.md", headlines(results))


def replace(readme, text):
    before, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    readme.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def headlines(results):
    """One load of each work is enough there: 8 clients, or else the one that its bar is about."""
    rows, chosen = [], {}
    for result in results:
        bars = [bar for bar in result.get("bars", []) if bar["reached"] is not None]
        if result["work"] == "calls":
            values = [bar["value"] for bar in bars]
            reached = sum(bar["reached"] for bar in bars)
            rows.append([f"{len(bars)} calls / their PL/pgSQL twins", "", f"{min(values):.2f} to {max(values):.2f}",
                         f"at least {bars[0]['least']:g}", f"{reached} of {len(bars)} reached"])
            continue
        for bar in bars:
            if bar["what"] not in chosen or bar["load"] in (str(Load(8)), str(Load(8, "simple"))):
                chosen[bar["what"]] = bar
    rows = [[bar["what"], bar["load"].partition(",")[0], *cells_of(bar)] for bar in chosen.values()] + rows
    return f"{machine.sentence(results[0])}.\n\n{table(['work', 'load', 'value', 'wanted', ''], rows)}"


def body(results, pictures):
    parts = [machine.sentence(results[0]) + ".\n"]
    times = sorted(result["machine"]["measured_at"] for result in results)
    parts.append(f"Measured from {times[0]} on; the last workload began at {times[-1]}. Settings: "
                 + ", ".join(f"`{name} = {value}`" for name, value in results[0]["settings"].items()) + ".\n")
    parts.append("### The bars\n")
    parts.append("The value is the median of the ratios of each round, with the lowest and the highest round behind it.\n")
    rows = [[bar["what"], bar["load"], *cells_of(bar)] for result in results for bar in result.get("bars", [])]
    parts.append(table(["work", "load", "value", "wanted", ""], rows))
    reached = [bar["reached"] for result in results for bar in result.get("bars", []) if bar["reached"] is not None]
    parts.append(f"{reached.count(True)} of {len(reached)} reached.\n")
    for name, title in pictures.items():
        parts.append(f"![{title}]({name})\n")
    for result in results:
        rounds = f" {result['rounds']} rounds." if "cells" in result else ""
        parts.append(f"### {result['title']}\n\n{result['note']}{rounds}\n")
        if result.get("figures"):
            parts.append(table(["what", "value"], [[figure["what"], f"{figure['value']:,} {figure['unit']}"] for figure in result["figures"]]))
        if result.get("cells"):
            parts.append(table(
                ["load", "what", "per second", "p50 ms", "p95 ms", "p99 ms", "WAL bytes"],
                [[load(cell) if first else "", name, *numbers(runs["median"])]
                 for cell in result["cells"] for first, (name, runs) in zip([True] + [False] * 9, cell["subjects"].items())]))
    return "\n".join(parts)


def numbers(one):
    return [f"{one['per_second']:,.0f}", *(f"{one[name]:.3f}" for name in ("p50_ms", "p95_ms", "p99_ms")),
            "" if one["wal_bytes"] is None else f"{one['wal_bytes']:,.0f}"]


def table(heads, rows):
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def load_results(folder):
    """In the order of the workloads."""
    from works import WORKS

    return [json.loads(path.read_text(encoding="utf-8")) for name in WORKS if (path := folder / f"{name}.json").exists()]


if __name__ == "__main__":
    write(load_results(HERE / "results"))
