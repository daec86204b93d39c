#pragma once
#include <string>
#include <string_view>

namespace commtune {

/// 128 bits from the kernel as 32 hexadecimal digits. Throws Error(system).
std::string random_secret();
/// Compares in a time that does not depend on where the texts differ.
bool same_secret(std::string_view, std::string_view) noexcept;

}  // namespace commtune
