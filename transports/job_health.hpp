#pragma once

namespace commtune {

/// Whether a job is still whole, as far as this rank has been told. Cheap; asked while waiting.
class JobHealth {
 public:
  virtual bool failed() const noexcept = 0;
  /// Throws Error(peer) naming the rank that failed first, if one has.
  void throw_if_failed() const {
    if (failed()) throw_failure();
  }

 protected:
  ~JobHealth() = default;
  [[noreturn]] virtual void throw_failure() const = 0;
};

}  // namespace commtune
