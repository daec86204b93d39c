#pragma once
#include <string_view>

#include "harness/record.hpp"

namespace commtune {

inline constexpr std::string_view result_schema = "commtune.result/1";

/// A `commtune.result/1` document without rows, status "partial".
Json new_document(Json run);
void set_status(Json& document, std::string_view status, std::string_view reason);

}  // namespace commtune
