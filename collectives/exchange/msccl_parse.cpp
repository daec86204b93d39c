#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "collectives/exchange/msccl_element.hpp"
#include "collectives/exchange/msccl_program.hpp"

namespace commtune {
namespace {

constexpr std::array<std::string_view, 9> type_names{"s",   "r",   "cpy",  "re", "rcs",
                                                     "rrc", "rrs", "rrcs", "nop"};
constexpr std::array<std::string_view, 3> buffer_names{"i", "o", "s"};
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
/// Bounds the memory that a short file can ask for.
constexpr std::int64_t most_gpus = 4096, most_chunks = 1 << 20, most_chunks_in_all = 1 << 21;

template <class Names>
std::size_t index_of(const Names& names, std::string_view text, const std::string& where,
                     std::string_view attribute) {
  const auto found = std::find(names.begin(), names.end(), text);
  require(found != names.end(), "{}: unknown {} \"{}\"; valid: {}", where, attribute, text,
          fmt::join(names, ", "));
  return static_cast<std::size_t>(found - names.begin());
}

struct CollectiveName {
  std::string_view text;
  Collective collective;
};
constexpr std::array<CollectiveName, 5> collective_names{
    {{"allreduce", Collective::allreduce},
     {"allgather", Collective::allgather},
     {"reducescatter", Collective::reduce_scatter},
     {"reduce_scatter", Collective::reduce_scatter},
     {"alltoall", Collective::alltoall}}};

class Parser {
 public:
  explicit Parser(const std::string& what) : what_(what) {}

  MscclProgram parse(std::string_view xml) {
    pugi::xml_document document;
    const auto status =
        document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!status) {
      const auto end = xml.begin() + std::min<std::ptrdiff_t>(
                                         status.offset, static_cast<std::ptrdiff_t>(xml.size()));
      fail(Errc::usage, "{}: line {}: {}", what_, std::count(xml.begin(), end, '\n') + 1,
           status.description());
    }
    const pugi::xml_node root = document.document_element();
    require(std::string_view(root.name()) == "algo", "{}: the root element is <{}>, not <algo>",
            what_, root.name());
    require(root.next_sibling().empty(), "{}: something follows </algo>", what_);
    algorithm(MscclElement(root, fmt::format("{}: algo", what_)));
    return std::move(program_);
  }

 private:
  void algorithm(MscclElement element) {
    program_.name = element.text("name");
    program_.protocol = element.text("proto", "");
    ranks_ = element.number("ngpus", 1, most_gpus);
    program_.chunks = static_cast<std::uint32_t>(element.number("nchunksperloop", 1, most_chunks));
    channels_ = element.number("nchannels", 1, most, most);
    collective(element.text("coll"), element.where());
    program_.in_place = element.flag("inplace");
    program_.out_of_place = element.flag("outofplace", !program_.in_place);
    require(program_.in_place || program_.out_of_place,
            "{}: neither inplace nor outofplace is 1: there is nothing to run", element.where());
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    program_.min_bytes = static_cast<std::uint64_t>(element.number("minBytes", 0, any, 0));
    program_.max_bytes = static_cast<std::uint64_t>(element.number("maxBytes", 0, any, 0));
    element.text("redop", "");  // the operator is the caller's choice
    element.finish();
    require(2 * ranks_ * program_.chunks <= most_chunks_in_all,
            "{}: {} gpus with {} chunks of input and output each are more than {} chunks in all",
            element.where(), ranks_, program_.chunks, most_chunks_in_all);
    for (const pugi::xml_node child : element.children("gpu")) gpu(child);
    require(program_.ranks() == ranks_, "{}: ngpus is {}, but there are {} gpus", element.where(),
            ranks_, program_.gpus.size());
    check_waits();
  }

  void collective(std::string_view text, const std::string& where) {
    std::vector<std::string_view> names;
    for (const auto& [known, collective] : collective_names) {
      names.push_back(known);
      if (known == text) program_.collective = collective;
    }
    index_of(names, text, where, "coll");
    require(!parted(program_.collective) || program_.chunks % ranks_ == 0,
            "{}: nchunksperloop=\"{}\" is not a multiple of the {} ranks, as {} needs", where,
            program_.chunks, ranks_, text);
  }

  void gpu(pugi::xml_node node) {
    const std::size_t number = program_.gpus.size();
    MscclElement element(node, fmt::format("{}: gpu {}", what_, number));
    expect_number(element, "id", number);
    MscclGpu& gpu = program_.gpus.emplace_back();
    const std::int64_t all = program_.chunks, part = all / ranks_;
    const bool gathers = program_.collective == Collective::allgather;
    const bool scatters = program_.collective == Collective::reduce_scatter;
    gpu.input_chunks =
        static_cast<std::uint32_t>(element.number("i_chunks", 0, gathers ? part : all));
    gpu.output_chunks =
        static_cast<std::uint32_t>(element.number("o_chunks", 0, scatters ? part : all));
    gpu.scratch_chunks = static_cast<std::uint32_t>(element.number("s_chunks", 0, most_chunks));
    element.finish();
    scratch_chunks_ += gpu.scratch_chunks;
    require(scratch_chunks_ <= most_chunks_in_all, "{}: more than {} chunks of scratch in all",
            element.where(), most_chunks_in_all);
    std::set<std::pair<Rank, std::uint32_t>> sending, receiving;
    for (const pugi::xml_node child : element.children("tb")) {
      const MscclThreadBlock& block = thread_block(child, gpu);
      const auto check = [&](auto& taken, Rank peer, std::string_view verb) {
        require(peer < 0 || taken.emplace(peer, block.channel).second,
                "{} tb {}: another thread block {} gpu {} on channel {} already", element.where(),
                gpu.blocks.size() - 1, verb, peer, block.channel);
      };
      check(sending, block.send_peer, "sends to");
      check(receiving, block.recv_peer, "receives from");
    }
  }

  const MscclThreadBlock& thread_block(pugi::xml_node node, MscclGpu& gpu) {
    const std::size_t number = gpu.blocks.size();
    const auto self = static_cast<Rank>(program_.gpus.size() - 1);
    MscclElement element(node, fmt::format("{}: gpu {} tb {}", what_, self, number));
    expect_number(element, "id", number);
    MscclThreadBlock& block = gpu.blocks.emplace_back();
    block.send_peer = static_cast<Rank>(element.number("send", -1, ranks_ - 1));
    block.recv_peer = static_cast<Rank>(element.number("recv", -1, ranks_ - 1));
    require(block.send_peer != self && block.recv_peer != self, "{}: gpu {} is its own peer",
            element.where(), self);
    block.channel = static_cast<std::uint32_t>(element.number("chan", 0, channels_ - 1));
    element.finish();
    for (const pugi::xml_node child : element.children("step")) step(child, gpu, block);
    return block;
  }

  void step(pugi::xml_node node, const MscclGpu& gpu, MscclThreadBlock& block) {
    const std::size_t number = block.steps.size();
    MscclElement element(node,
                         fmt::format("{}: gpu {} tb {} step {}", what_, program_.gpus.size() - 1,
                                     gpu.blocks.size() - 1, number));
    expect_number(element, "s", number);
    MscclStep step;
    step.type = static_cast<MscclStepType>(
        index_of(type_names, element.text("type"), element.where(), "step type"));
    const bool nothing = step.type == MscclStepType::nop;
    step.count = static_cast<std::uint32_t>(element.number("cnt", nothing ? 0 : 1, most));
    step.src = run(element, "srcbuf", "srcoff", gpu, reads_source(step.type) ? step.count : 0);
    step.dst =
        run(element, "dstbuf", "dstoff", gpu, writes_destination(step.type) ? step.count : 0);
    require(!receives(step.type) || block.recv_peer >= 0,
            "{}: {} receives, but the thread block has recv=\"-1\"", element.where(),
            name(step.type));
    require(!sends(step.type) || block.send_peer >= 0,
            "{}: {} sends, but the thread block has send=\"-1\"", element.where(), name(step.type));
    step.wait_block = static_cast<std::int32_t>(element.number("depid", -1, most));
    step.wait_step = static_cast<std::int32_t>(element.number("deps", -1, most));
    step.signals = element.flag("hasdep");
    element.finish();
    element.require_empty();
    block.steps.push_back(step);
  }

  /// Chunks that a step accesses must exist; `count` 0: they are not accessed.
  static MscclRun run(MscclElement& element, const char* buffer, const char* offset,
                      const MscclGpu& gpu, std::uint32_t count) {
    const std::string_view text = element.text(buffer);
    const auto which =
        static_cast<MscclBuffer>(index_of(buffer_names, text, element.where(), buffer));
    const std::int64_t first = element.number(offset, -1, most);
    if (count == 0) return {which, 0};
    const std::int64_t held = which == MscclBuffer::input    ? gpu.input_chunks
                              : which == MscclBuffer::output ? gpu.output_chunks
                                                             : gpu.scratch_chunks;
    require(first >= 0 && first + count <= held,
            "{}: {}=\"{}\" with cnt=\"{}\": the gpu has {}_chunks=\"{}\"", element.where(), offset,
            first, count, text, held);
    return {which, static_cast<std::uint32_t>(first)};
  }

  static void expect_number(MscclElement& element, const char* attribute, std::size_t number) {
    const std::int64_t given = element.number(attribute, 0, most);
    require(given == static_cast<std::int64_t>(number), "{}: {}=\"{}\", but {} comes next",
            element.where(), attribute, given, number);
  }

  void check_waits() const {
    for (Rank r = 0; r < program_.ranks(); ++r) {
      const auto& blocks = program_.gpus[static_cast<std::size_t>(r)].blocks;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) check_wait(blocks, r, b, s);
      }
    }
  }

  void check_wait(const std::vector<MscclThreadBlock>& blocks, Rank gpu, std::size_t block,
                  std::size_t at) const {
    const MscclStep& step = blocks[block].steps[at];
    if (step.wait_block < 0 && step.wait_step < 0) return;
    const std::string where = fmt::format("{}: {}", what_, describe(program_, gpu, block, at));
    require(step.wait_block >= 0 && step.wait_step >= 0,
            "{}: depid=\"{}\" and deps=\"{}\" must both be given or both be -1", where,
            step.wait_block, step.wait_step);
    const auto other = static_cast<std::size_t>(step.wait_block);
    const auto which = static_cast<std::size_t>(step.wait_step);
    require(other < blocks.size(), "{}: depid=\"{}\": the gpu has {} thread blocks", where, other,
            blocks.size());
    require(which < blocks[other].steps.size(), "{}: deps=\"{}\": tb {} has {} steps", where, which,
            other, blocks[other].steps.size());
    require(other != block || which < at,
            "{}: waits for itself or a later step of its thread block", where);
    require(blocks[other].steps[which].signals,
            "{}: waits for tb {} step {}, which has hasdep=\"0\" and never signals", where, other,
            which);
  }

  const std::string& what_;
  MscclProgram program_;
  std::int64_t ranks_ = 0, channels_ = 0, scratch_chunks_ = 0;
};

}  // namespace

std::string_view name(MscclStepType type) noexcept {
  return type_names[static_cast<std::size_t>(type)];
}
std::string_view name(MscclBuffer buffer) noexcept {
  return buffer_names[static_cast<std::size_t>(buffer)];
}

std::string describe(const MscclProgram& program, Rank gpu, std::size_t block, std::size_t step) {
  const auto& steps = program.gpus[static_cast<std::size_t>(gpu)].blocks[block].steps;
  return fmt::format("gpu {} tb {} step {} ({})", gpu, block, step, name(steps[step].type));
}

MscclProgram parse_msccl(std::string_view xml, const std::string& what) {
  return Parser(what).parse(xml);
}

}  // namespace commtune
