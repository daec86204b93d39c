#include <vector>

#include "collectives/exchange/import.hpp"
#include "collectives/exchange/plugin.hpp"
#include "commands/command.hpp"
#include "core/error.hpp"

namespace commtune {
namespace {

/// An option that may be given several times, each time with one file.
void add_files(CLI::App& app, const std::string& option, const std::string& type,
               const std::string& help, void (*load)(const std::string& file)) {
  app.add_option_function<std::vector<std::string>>(
         option,
         [load](const std::vector<std::string>& files) {
           for (const std::string& file : files) load(file);
         },
         help)
      ->type_name(type)
      ->allow_extra_args(false);
}

}  // namespace

void add_algorithm_options(CLI::App& app) {
  add_files(app, "--plugin", "FILE.so", "algorithms of your own, a shared object; repeatable",
            [](const std::string& file) { load_plugin(file, "--plugin " + file); });
  add_files(app, "--schedule", "FILE.xml",
            "an algorithm as MSCCL XML, proved before anything runs; repeatable",
            [](const std::string& file) {
              const std::string what = "--schedule " + file;
              add_algorithm(make_algorithm(import_msccl_file(file, what)), what);
            });
}

}  // namespace commtune
