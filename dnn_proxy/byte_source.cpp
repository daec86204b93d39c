#include "dnn_proxy/byte_source.hpp"

#include <cerrno>
#include <cstring>
#include <zlib.h>

#include "core/error.hpp"

namespace commtune {
namespace {
constexpr std::size_t block = 64 * 1024;
}

TraceBuffer::TraceBuffer(const std::filesystem::path& path)
    : path_(path.string()),
      file_(std::fopen(path_.c_str(), "rb"), &std::fclose),
      compressed_(block),
      plain_(block) {
  if (!file_) fail(Errc::usage, "{}: {}", path_, std::strerror(errno));
  require(!std::filesystem::is_directory(path), "{}: is a directory, expected a file", path_);
  unsigned char magic[2] = {};
  gzip_ = std::fread(magic, 1, 2, file_.get()) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  std::rewind(file_.get());
  if (!gzip_) return;
  inflater_ = std::make_unique<z_stream_s>();
  std::memset(inflater_.get(), 0, sizeof(z_stream_s));
  if (inflateInit2(inflater_.get(), 16 + MAX_WBITS) != Z_OK)
    fail(Errc::system, "{}: zlib did not start", path_);
  in_member_ = true;
}

TraceBuffer::~TraceBuffer() {
  if (inflater_) inflateEnd(inflater_.get());
}

std::uint64_t TraceBuffer::consumed() const { return read_ - inflater_->avail_in; }

bool TraceBuffer::refill() {
  const std::size_t got = std::fread(compressed_.data(), 1, block, file_.get());
  if (got < block && std::ferror(file_.get()) != 0)
    fail(Errc::system, "{}: read failed at byte {}: {}", path_, read_, std::strerror(errno));
  read_ += got;
  inflater_->next_in = reinterpret_cast<Bytef*>(compressed_.data());
  inflater_->avail_in = static_cast<uInt>(got);
  return got > 0;
}

void TraceBuffer::start_member() {
  require(*inflater_->next_in == 0x1f, "{}: byte {}: text after the end of the gzip data", path_,
          consumed());
  inflateReset(inflater_.get());
  in_member_ = true;
}

std::size_t TraceBuffer::inflate_block() {
  inflater_->next_out = reinterpret_cast<Bytef*>(plain_.data());
  inflater_->avail_out = static_cast<uInt>(block);
  while (inflater_->avail_out == block) {
    if (inflater_->avail_in == 0 && !refill()) {
      require(!in_member_, "{}: byte {}: the gzip data is cut off here", path_, read_);
      return 0;
    }
    if (!in_member_) start_member();
    const int status = inflate(inflater_.get(), Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      in_member_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(Errc::usage, "{}: byte {}: damaged gzip data: {}", path_, consumed(),
           inflater_->msg != nullptr ? inflater_->msg : "bad stream");
    }
  }
  return block - inflater_->avail_out;
}

TraceBuffer::int_type TraceBuffer::underflow() {
  std::size_t got = 0;
  if (gzip_) {
    got = inflate_block();
  } else {
    got = std::fread(plain_.data(), 1, block, file_.get());
    if (got < block && std::ferror(file_.get()) != 0)
      fail(Errc::system, "{}: read failed: {}", path_, std::strerror(errno));
  }
  setg(plain_.data(), plain_.data(), plain_.data() + got);
  return got == 0 ? traits_type::eof() : traits_type::to_int_type(plain_[0]);
}

std::string read_head(const std::filesystem::path& path, std::size_t bytes) {
  TraceStream in(path);
  std::string head(bytes, '\0');
  in.read(head.data(), static_cast<std::streamsize>(bytes));
  head.resize(static_cast<std::size_t>(in.gcount()));
  return head;
}

}  // namespace commtune
