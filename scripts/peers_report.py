"""What scripts/bench-peers makes of its rows: machine states, pairs of launches, targets, tables.

A row is a dict with launch, peer, candidate, collective, bytes, buffers, median_us, machine_state
and flags.
"""
import math
import os
import shlex
import statistics
import sys

KIB, MIB = 1 << 10, 1 << 20
FIRM_PAIRS = 3  # fewer decide nothing


def show_size(size):
    for factor, unit in ((MIB, "MiB"), (KIB, "KiB")):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


def far_threshold(rows):
    """Nanoseconds that divide the states: the widest gap between probes. Infinite when they are
    all alike."""
    probes = sorted(value for row in rows for value in row["machine_state"]["c2c_ns"] if value)
    probes = probes[len(probes) // 20:len(probes) - len(probes) // 20]
    gaps = [(high / low, math.sqrt(low * high)) for low, high in zip(probes, probes[1:])]
    ratio, middle = max(gaps, default=(1, math.inf))
    return middle if ratio > 1.4 else math.inf


def set_states(rows, threshold):
    for row in rows:
        probes = row["machine_state"]["c2c_ns"]
        sides = {value >= threshold for value in probes if value}
        known = all(probes) and len(sides) == 1 and "state_changed" not in row["flags"]
        row["state"] = ("far" if sides.pop() else "near") if known else None


def best_series(rows, state):
    """(name, {launch: us}) of the candidate with the lowest median over launches in `state`."""
    series = {}
    for row in rows:
        if row["state"] == state:
            series.setdefault(row["candidate"], {})[row["launch"]] = row["median_us"]
    # A candidate that was seen in few launches must not win by luck.
    most = max((len(known) for known in series.values()), default=0)
    full = {name: known for name, known in series.items() if 2 * len(known) >= most}
    name = min(full, key=lambda n: statistics.median(full[n].values()), default=None)
    return (name, full[name]) if name is not None else (None, {})


def compare(other, ours):
    """Median and range of other/ours over the launches that both have."""
    ratios = [other[launch] / max(ours[launch], 1e-3) for launch in other if launch in ours]
    if not ratios:
        return None
    return {"median": statistics.median(ratios), "low": min(ratios), "high": max(ratios),
            "pairs": len(ratios)}


def target_of(collective, size, buffers):
    if buffers == "private":
        return 1.5 if size >= 64 * KIB else 1.0
    if collective != "allreduce":
        return 1.5 if size >= 64 * KIB else 1.0
    if size < 16 * KIB:
        return 2.0
    return 5.0 if size <= 16 * MIB else 3.0


def analyse_state(rows, state, collective, size, buffers):
    side = {}
    for row in rows:
        if row["peer"] != "ours" or row["buffers"] == buffers:
            side.setdefault(row["peer"], []).append(row)
    name, ours = best_series(side.pop("ours", []), state)
    line = {"collective": collective, "bytes": size, "buffers": buffers, "state": state,
            "ours": name, "ours_us": statistics.median(ours.values()) if ours else None,
            "peers": {}, "target": target_of(collective, size, buffers), "ratio": None,
            "best_peer": None, "unpaired": [], "bound": None, "bound_us": None}
    bound_name, bound = best_series(side.pop("bound", []), state)
    if bound_name and ours:
        share = compare(bound, ours)
        line["bound_us"] = statistics.median(bound.values())
        wanted = size == 8 or size >= 256 * KIB
        line["bound"] = share and {**share, "kernel": bound_name,
                                   "target": 0.85 if wanted and buffers == "registered" else None}
    for peer, known in side.items():
        label, series = best_series(known, state)
        if series:
            line["peers"][peer] = {"candidate": label, "us": statistics.median(series.values()),
                                   "ratio": compare(series, ours)}
    # A peer without a pair may be the fastest: then the slower ones must not stand in for it.
    paired = {peer: known["ratio"] for peer, known in line["peers"].items() if known["ratio"]}
    line["unpaired"] = sorted(peer for peer in side if peer not in paired)
    if paired and not line["unpaired"]:
        line["best_peer"] = min(paired, key=lambda peer: paired[peer]["median"])
        line["ratio"] = paired[line["best_peer"]]
    return line


def analyse(rows, collectives, sizes):
    """A line for every collective, kind of buffers and size, of the state with most pairs."""
    lines = []
    for collective in collectives:
        for buffers in ("registered", "private"):
            for size in sizes:
                these = [row for row in rows if row["collective"] == collective
                         and row["bytes"] == size and row["launch"] > 0]
                states = [analyse_state(these, state, collective, size, buffers)
                          for state in ("near", "far")]
                lines.append(max(states, key=lambda s: s["ratio"]["pairs"] if s["ratio"] else 0))
    return lines


def verdict(line):
    if not line["ratio"]:
        return "no pair" + (f" with {', '.join(line['unpaired'])}" if line["unpaired"] else "")
    low, high, target = line["ratio"]["low"], line["ratio"]["high"], line["target"]
    firm = line["ratio"]["pairs"] >= FIRM_PAIRS
    if line["ratio"]["median"] >= target:
        return "met" if firm and low >= target else "met?"
    return "MISSED" if firm and high < target else "missed?"


def bound_verdict(bound):
    """A share of more than the whole says that the bound was measured too slow."""
    if bound["median"] > 1:
        return "not a bound here"
    if not bound["target"]:
        return ""
    sure = "" if bound["pairs"] >= FIRM_PAIRS else "?"
    return ("met" if bound["median"] >= bound["target"] else "MISSED") + sure


def show_us(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def table(lines, collective, buffers, peers):
    head = ["size", "state", "pairs", "ours", "us"] + [f"{peer} us" for peer in peers]
    head += ["times faster", "target", ""]
    if collective == "allreduce":
        head += ["bound us", "of the bound"]
    text = [f"### {collective}, {buffers} buffers", "", "| " + " | ".join(head) + " |",
            "| " + " | ".join(["---"] * len(head)) + " |"]
    for line in lines:
        if (line["collective"], line["buffers"]) != (collective, buffers):
            continue
        ratio, bound = line["ratio"], line["bound"]
        cells = [show_size(line["bytes"]), line["state"], str(ratio["pairs"] if ratio else 0),
                 line["ours"] or "-", show_us(line["ours_us"]) if line["ours_us"] else "-"]
        for peer in peers:
            known = line["peers"].get(peer)
            cells.append(f"{show_us(known['us'])} ({known['candidate']})" if known else "-")
        cells.append(f"{ratio['median']:.2f} [{ratio['low']:.2f}, {ratio['high']:.2f}] "
                     f"{line['best_peer']}" if ratio else "-")
        cells += [f"{line['target']:g}", verdict(line)]
        if collective == "allreduce":
            cells.append(show_us(line["bound_us"]) if bound else "-")
            cells.append(f"{100 * bound['median']:.0f} % {bound_verdict(bound)}" if bound else "-")
        text.append("| " + " | ".join(cells) + " |")
    return text + [""]


def report(lines, rows, peers, facts, threshold):
    """The whole document in Markdown."""
    counts = {}
    for row in rows:
        state = row["state"] or "changed or unknown"
        counts[state] = counts.get(state, 0) + 1
    states = ", ".join(f"{state} {count}" for state, count in sorted(counts.items()))
    if math.isfinite(threshold):
        states += f"; far from {threshold:.0f} ns on"
    facts = facts + [
        f"rows per machine state: {states}",
        f"load average {os.getloadavg()[0]:.1f} at the end, {os.cpu_count()} processors",
        "times are medians over launches of the best algorithm; \"times faster\" is a peer's time"
        " over ours, the median over pairs of launches [least, greatest], of the peer for which it"
        " is least; without a pair with every peer there is none",
        f"\"?\": fewer than {FIRM_PAIRS} pairs, or not all on the same side of the target"]
    text = ["# Our collectives beside other libraries, 2 ranks", "",
            f"Command: `{shlex.join(['scripts/bench-peers'] + sys.argv[1:])}`", ""]
    text += [f"- {fact}" for fact in facts] + [""]
    for collective in dict.fromkeys(line["collective"] for line in lines):
        for buffers in ("registered", "private"):
            text += table(lines, collective, buffers, peers)
    return "\n".join(text)
