#pragma once
#include "harness/record.hpp"

namespace commtune {

inline Row allreduce_row() {
  Row row;
  row.test = row.collective = "allreduce";
  row.transport = "shm";
  row.ranks = row.ppn = 3;
  row.algorithm_asked = "auto";
  row.algorithm_used = "ring";
  row.algorithm_evidence = "built-in table";
  row.params = {{"segments", 2}};
  row.bytes_asked = row.bytes_per_rank = row.bytes_total = 1024;
  row.count = 256;
  row.dtype = "float32";
  row.op = "sum";
  row.time = TimeSummary{12.5, 12.25, 12.75, 13.125, 11, 12.5, 14, 15, 20, 30.5, 120};
  row.entry_skew_us = 0.5;
  row.clock_error_us = 0.25;
  row.straggler = Stragglers{{2, "node1", 0.75}, {0, "node0", 0.5}};
  row.first_call_us = 99.5;
  row.algbw_gbs = 0.08192;
  row.busbw_gbs = 0.125;
  row.machine = {{75.5, 76}, {10, std::nullopt}, 0.25, 0};
  row.check_iterations = 1;
  row.flags = {"few_samples", "oversubscribed"};
  return row;
}

inline Row skipped_row() {
  Row row;
  row.test = "bandwidth";
  row.transport = "mpi";
  row.library = "openmpi";
  row.ranks = 1;
  row.bytes_per_rank = 65536;
  row.status = "skipped";
  row.reason = "needs 2 ranks, got 1";
  return row;
}

}  // namespace commtune
