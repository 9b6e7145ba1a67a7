"""The results as files, and as tables."""

import json


def save(result, path):
    path.write_text(json.dumps(result, indent=1, default=float) + "\n", encoding="utf-8")


def show(result):
    """Prints what was measured and how it stands to its bars."""
    print(f"\n{result['title']}. {result['note']}")
    for figure in result.get("figures", []):
        print(f"  {figure['what']:<44} {figure['value']:>14,} {figure['unit']}")
    for cell in result.get("cells", []):
        print(f"  {cell['clients']} clients, {cell['protocol']}, synchronous_commit {cell['synchronous_commit']}")
        for name, runs in cell["subjects"].items():
            one = runs["median"]
            print(f"    {name:<34} {one['per_second']:>9,.0f}/s   p50 {one['p50_ms']:8.3f} ms   p95 {one['p95_ms']:8.3f} ms"
                  f"   p99 {one['p99_ms']:8.3f} ms   {one['wal_bytes']:8,.0f} bytes of WAL")
    for bar in result.get("bars", []):
        print("  " + line(bar))


def line(bar):
    reached = {True: "reached", False: "NOT reached", None: ""}[bar["reached"]]
    wanted = ", ".join(f"{name} {bar[name]:g}" for name in ("least", "aim") if bar[name] is not None)
    spread = f" ({bar['from']:.2f} to {bar['to']:.2f})" if "from" in bar else ""
    return f"{bar['what']}: {bar['value']:.2f}{spread}; {wanted} {reached}"
