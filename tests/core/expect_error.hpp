#pragma once
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace commtune {

/// Runs `action` and returns the message of the Error(code) it must throw; fails the test and
/// returns "" when it does not.
template <class Action>
std::string error_of(Errc code, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

inline bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace commtune
