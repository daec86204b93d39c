#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "dnn_proxy/conservation.hpp"
#include "dnn_proxy/workload.hpp"

namespace commtune {

/// What an importer looks at to say whether a trace is its own.
struct TraceProbe {
  std::filesystem::path path;
  bool directory = false;
  std::string head;  ///< first 64 KiB, decompressed; of a directory: of its first trace file
};

struct Import {
  Workload workload;
  ConservationReport conservation;
};

/// One foreign format; the list is in importers/registry.cpp.
struct Importer {
  std::string_view name, summary;
  bool (*sniff)(const TraceProbe&);
  /// Throws Error(usage) naming file and place on bad input, Error(wrong_result) when something
  /// would get lost. Nothing is dropped quietly.
  Import (*import)(const std::filesystem::path&);
};
std::span<const Importer* const> importers() noexcept;

/// Recognises and imports a trace file or directory. Throws Error(usage) when it does not exist or
/// no importer knows it (the message lists the formats).
Import import_trace(const std::filesystem::path&);

/// The files of a directory that may hold traces (.json, .json.gz), sorted by name.
std::vector<std::filesystem::path> trace_files(const std::filesystem::path& directory);

}  // namespace commtune
