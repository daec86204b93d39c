#include "transports/local/fabric.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.hpp"

namespace commtune::local {

namespace {

constexpr std::size_t smallest_arena = std::size_t{64} << 20;

#if defined(__SANITIZE_THREAD__)
#define COMMTUNE_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COMMTUNE_SHADOW_MEMORY 1
#endif
#endif

/// No rank can use more than the machine has; a thread sanitizer shadows every mapped byte.
std::size_t largest_arena() {
#ifdef COMMTUNE_SHADOW_MEMORY
  return std::size_t{1} << 30;
#else
  const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  const auto memory =
      static_cast<std::size_t>(std::max(pages, 1L)) * static_cast<std::size_t>(std::max(bytes, 1L));
  return round_up(std::max(memory, smallest_arena), huge_page_bytes);
#endif
}

/// Whether the kernel heeds a request for huge pages in private (or shared) anonymous memory.
bool huge_pages_on_request(bool shared) {
  std::ifstream file(shared ? "/sys/kernel/mm/transparent_hugepage/shmem_enabled"
                            : "/sys/kernel/mm/transparent_hugepage/enabled");
  std::string choice;
  while (file >> choice) {
    if (choice.front() == '[') return choice != "[never]" && choice != "[deny]";
  }
  return false;
}

bool remote_reads_permitted() {
  const char* const value = std::getenv("COMMTUNE_REMOTE_READS");
  if (value == nullptr) return true;
  const std::string_view text(value);
  require(text == "0" || text == "1", "COMMTUNE_REMOTE_READS={}: must be 0 or 1", text);
  return text == "1";
}

}  // namespace

Fabric::Fabric(Kind kind, const Board& board, bool crowded)
    : kind_(kind),
      board_(board),
      crowded_(crowded),
      remote_reads_(kind == Kind::processes && remote_reads_permitted()),
      huge_pages_(huge_pages_on_request(kind == Kind::processes)) {
  const auto n = static_cast<std::size_t>(board.size());
  const std::size_t lanes = n * n * lane_count;
  const std::size_t channels_at = round_up(n * sizeof(std::atomic<std::int32_t>), page_bytes);
  const std::size_t blocks_at = round_up(channels_at + lanes * sizeof(Channel), page_bytes);
  const std::size_t cells_at =
      round_up(blocks_at + lanes * slots_per_lane * block_stride, page_bytes);
  const std::size_t fixed_bytes = cells_at + lanes * cells_per_lane * cell_bytes;
  map(fixed_bytes);

  processes_ = reinterpret_cast<std::atomic<std::int32_t>*>(base_);
  channels_ = reinterpret_cast<Channel*>(base_ + channels_at);
  blocks_ = base_ + blocks_at;
  cells_ = base_ + cells_at;
  const auto end = reinterpret_cast<std::uintptr_t>(base_ + fixed_bytes);
  arenas_ = base_ + fixed_bytes + (round_up(end, huge_page_bytes) - end);
  arenas_end_ = arenas_ + n * arena_bytes_;
  if (kind_ == Kind::threads) make_arenas_private();
}

Fabric::~Fabric() { munmap(base_, mapped_bytes_); }

void Fabric::map(std::size_t fixed_bytes) {
  for (arena_bytes_ = largest_arena(); arena_bytes_ >= smallest_arena; arena_bytes_ /= 2) {
    arena_bytes_ = round_up(arena_bytes_, huge_page_bytes);
    mapped_bytes_ = fixed_bytes + huge_page_bytes + arena_bytes_ * static_cast<std::size_t>(size());
    void* const address = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address != MAP_FAILED) {
      base_ = static_cast<std::byte*>(address);
      return;
    }
  }
  commtune::fail(Errc::system,
                 "cannot map {} bytes of shared memory for {} ranks: {}; use fewer ranks",
                 mapped_bytes_, size(), std::strerror(errno));
}

/// The ranks that are threads of one process need no shared pages, and private ones are more often
/// allowed to be huge.
void Fabric::make_arenas_private() {
  const auto bytes = static_cast<std::size_t>(arenas_end_ - arenas_);
  if (mmap(arenas_, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED) {
    commtune::fail(Errc::system, "cannot map {} bytes of private memory: {}; use fewer ranks",
                   bytes, std::strerror(errno));
  }
}

}  // namespace commtune::local
