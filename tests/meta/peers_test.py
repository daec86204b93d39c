"""The judgement of scripts/bench-peers on made-up rows: only launches in one machine state count."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import peers_report as peers  # noqa: E402

NEAR, FAR, CHANGED = [40, 41], [160, 165], [40, 165]


def row(launch, peer, candidate, us, probes, flags=()):
    return {"launch": launch, "peer": peer, "candidate": candidate, "collective": "allreduce",
            "bytes": 8, "buffers": "registered", "median_us": us, "flags": list(flags),
            "machine_state": {"c2c_ns": probes}}


def judge(rows):
    peers.set_states(rows, peers.far_threshold(rows))
    return peers.analyse(rows, ["allreduce"], [8])[0]


def launches(ours, other, probes):
    return [r for k, state in enumerate(probes, 1)
            for r in (row(k, "ours", "a", ours, state), row(k, "openmpi", "x", other, state))]


class Judgement(unittest.TestCase):
    def test_pairs_of_one_state_give_the_ratio_of_the_best_of_each_side(self):
        rows = launches(1, 2.5, [NEAR] * 3)
        rows += [row(k, "openmpi", "slow", 3, NEAR) for k in (1, 2, 3)]
        rows += [row(k, "bound", "cached", 0.9, NEAR) for k in (1, 2, 3)]
        line = judge(rows)
        self.assertEqual(line["ratio"], {"median": 2.5, "low": 2.5, "high": 2.5, "pairs": 3})
        self.assertEqual(line["peers"]["openmpi"]["candidate"], "x")
        self.assertAlmostEqual(line["bound"]["median"], 0.9)
        self.assertEqual(peers.verdict(line), "met")

    def test_states_are_never_mixed(self):
        rows = [row(1, "ours", "a", 1, NEAR), row(1, "openmpi", "x", 9, FAR),
                row(2, "ours", "a", 4, FAR), row(2, "openmpi", "x", 2.5, NEAR)]
        line = judge(rows)
        self.assertIsNone(line["ratio"])
        self.assertEqual(peers.verdict(line), "no pair with openmpi")

    def test_a_state_that_changed_within_a_row_disqualifies_it(self):
        rows = launches(1, 3, [NEAR, CHANGED, FAR, NEAR])
        rows += [row(9, "openmpi", "x", 100, NEAR, ["state_changed"])]
        rows += [row(9, "ours", "a", 1, NEAR), row(8, "ours", "a", 1, [None, 40])]
        line = judge(rows)
        self.assertEqual(line["state"], "near")
        self.assertEqual(line["ratio"]["pairs"], 2)

    def test_a_slower_result_misses_its_target(self):
        self.assertEqual(peers.verdict(judge(launches(2, 1, [NEAR] * 3))), "MISSED")
        self.assertEqual(peers.verdict(judge(launches(2, 1, [NEAR] * 2))), "missed?")
        mixed = launches(1, 2.5, [NEAR]) + launches(1, 1.5, [NEAR])
        for r in mixed[2:]:
            r["launch"] = 2
        self.assertEqual(peers.verdict(judge(mixed)), "met?")

    def test_a_slower_peer_does_not_stand_in_for_the_fastest_without_a_pair(self):
        rows = launches(1, 100, [NEAR] * 3) + [row(1, "mpich", "y", 1.5, CHANGED)]
        rows += [row(4, "mpich", "y", 1.5, FAR), row(5, "mpich", "y", 1.5, NEAR)]
        line = judge(rows)
        self.assertIsNone(line["ratio"])
        self.assertEqual(peers.verdict(line), "no pair with mpich")
        rows += [row(k, "mpich", "y", 1.5, NEAR) for k in (2, 3)]
        line = judge(rows)
        self.assertEqual((line["best_peer"], line["ratio"]["median"]), ("mpich", 1.5))
        self.assertEqual(peers.verdict(line), "missed?")

    def test_a_bound_that_was_beaten_is_called_none(self):
        rows = launches(1, 3, [NEAR] * 3) + [row(k, "bound", "b", 1.2, NEAR) for k in (1, 2, 3)]
        self.assertEqual(peers.bound_verdict(judge(rows)["bound"]), "not a bound here")

    def test_alike_probes_are_one_state(self):
        self.assertEqual(peers.far_threshold(launches(1, 2, [[40, 44], [42, 50]])), float("inf"))


if __name__ == "__main__":
    unittest.main()
