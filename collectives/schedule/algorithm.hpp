#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "collectives/schedule/schedule.hpp"

namespace commtune {

/// Why an algorithm cannot serve a shape, as a clause ("8 ranks are not a power of 3"); empty when
/// it can.
using Refusal = ShapeFunction<std::string>;

/// A collective algorithm as a value. `id` is "<collective>/<name>"; the file is
/// collectives/algorithms/<collective>_<name>.cpp.
struct Algorithm {
  Collective collective;
  std::string_view name;
  Generator generate;
  std::string_view tunables;  ///< the Params members it reads: "segments", "segments,radix"
  std::string_view summary;   ///< one line: idea and citation
  /// Hockney's cost: L = ceil(log2 P), n bytes of a whole vector, m bytes of a part, alpha, beta,
  /// gamma: "2(P-1) alpha + 2(P-1)/P n beta + (P-1)/P n gamma".
  std::string_view cost;
  std::string_view needs = "";  ///< what `refuse` asks for: "an even number of ranks"
  Refusal refuse = nullptr;     ///< null: any number of ranks, any parameters
};

/// Empty when `algorithm` can serve the shape with these parameters; otherwise why it cannot.
std::string refusal(const Algorithm&, const Shape&, const Params&);

/// The parameters named in `tunables`: " segments=3 radix=2".
std::string describe(const Params&, std::string_view tunables);

/// What this program was built with, sorted by (collective, name): the list in registry.cpp.
std::span<const Algorithm* const> built_in_algorithms() noexcept;
/// The built-in algorithms and those that were added, sorted by (collective, name).
std::span<const Algorithm* const> algorithms() noexcept;
/// Makes an algorithm from outside known under its name until the program ends. Called when the
/// program starts, in every process of a job, before ranks run: forked ranks inherit it. Spans that
/// algorithms() returned before stay valid and lack it. Throws Error(usage) that starts with `what`
/// when the name is taken, reserved (all, auto, native) or not made of letters, digits and "_-.".
void add_algorithm(std::shared_ptr<const Algorithm>, std::string_view what);
/// Throws Error(usage) that starts with `what` and lists the names known for that collective.
const Algorithm& find_algorithm(Collective, std::string_view name, std::string_view what);

}  // namespace commtune
