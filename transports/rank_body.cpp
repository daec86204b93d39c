#include "transports/rank_body.hpp"

#include <new>

#include "core/standard_output.hpp"

namespace commtune {

RankResult run_guarded(const std::function<int()>& work) {
  try {
    const int status = work();
    flush_standard_output();
    return {status, std::nullopt, {}};
  } catch (const Error& error) {
    return {exit_status(error.code()), error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return {exit_unavailable, Errc::system, "out of memory"};
  } catch (const std::exception& error) {
    return {exit_unavailable, Errc::system, error.what()};
  }
}

}  // namespace commtune
