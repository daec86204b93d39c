#pragma once
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>
#include <vector>

struct z_stream_s;

namespace commtune {

/// Streams a plain or gzip file (by its magic, not its name) in blocks of 64 KiB, so that a trace
/// of gigabytes needs no memory of its size. Errors are Error(usage) naming the file; damage to the
/// gzip layer names the byte offset in the compressed file.
class TraceBuffer : public std::streambuf {
 public:
  explicit TraceBuffer(const std::filesystem::path&);
  ~TraceBuffer() override;
  TraceBuffer(const TraceBuffer&) = delete;
  TraceBuffer& operator=(const TraceBuffer&) = delete;

 protected:
  int_type underflow() override;

 private:
  bool refill();
  std::size_t inflate_block();
  void start_member();
  std::uint64_t consumed() const;

  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<char> compressed_, plain_;
  std::unique_ptr<z_stream_s> inflater_;
  std::uint64_t read_ = 0;  ///< bytes taken from the file
  bool gzip_ = false, in_member_ = false;
};

/// An istream over a TraceBuffer that lets its errors through.
class TraceStream : public std::istream {
 public:
  explicit TraceStream(const std::filesystem::path& path) : std::istream(nullptr), buffer_(path) {
    rdbuf(&buffer_);
    exceptions(std::ios::badbit);
  }

 private:
  TraceBuffer buffer_;
};

/// The first `bytes` decompressed bytes, for sniffing; shorter at the end of the file.
std::string read_head(const std::filesystem::path&, std::size_t bytes);

}  // namespace commtune
