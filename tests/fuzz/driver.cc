// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over the files of a corpus folder, then over seeded mutations of them:
//   fuzz_idx [--runs=N] [--seconds=S] [--input-seconds=S] [--seed=N] [--only=RUN] CORPUS
// Ends with 0, or dies in the target; then the number of the run has been printed, and --only
// repeats it alone. An input that takes longer than --input-seconds is printed and ends the process
// with kStuck.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/clock.h"
#include "core/rng.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/mutate.h"

// Present in sanitizer builds: called before a report ends the process.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace gg {
namespace {

constexpr size_t kMostBytes = 64 << 10;
constexpr int kStuck = 3;

struct Arguments {
  uint64_t runs = 20000, seconds = 10, input_seconds = 20, seed = 1;
  std::optional<uint64_t> only;
  std::string corpus;
};

std::optional<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    uint64_t* number = nullptr;
    if (absl::ConsumePrefix(&text, "--runs="))
      number = &arguments.runs;
    else if (absl::ConsumePrefix(&text, "--seconds="))
      number = &arguments.seconds;
    else if (absl::ConsumePrefix(&text, "--input-seconds="))
      number = &arguments.input_seconds;
    else if (absl::ConsumePrefix(&text, "--seed="))
      number = &arguments.seed;
    else if (absl::ConsumePrefix(&text, "--only="))
      number = &arguments.only.emplace();
    else
      arguments.corpus = std::string(text);
    if (number != nullptr && !absl::SimpleAtoi(text, number)) return std::nullopt;
  }
  if (arguments.corpus.empty() || arguments.input_seconds == 0) return std::nullopt;
  return arguments;
}

// In the order of their names: the order of a folder's entries differs between machines.
std::vector<FuzzInput> ReadCorpus(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) paths.push_back(entry->path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<FuzzInput> corpus;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// Only what a signal handler may use: the text is made before each run.
char run_text[96];
int run_text_size = 0;
const FuzzInput* running = nullptr;

void SayWhichRun() {
  (void)!write(STDERR_FILENO, run_text, static_cast<size_t>(run_text_size));
}
void OnSignal(int) {
  SayWhichRun();
}  // SA_RESETHAND: the signal then takes its usual course

void OnStuck(int) {
  SayWhichRun();
  constexpr char kWords[] = "fuzz: stuck in this run; its input: ";
  (void)!write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
  for (const uint8_t byte : *running) {
    constexpr char kDigits[] = "0123456789abcdef";
    const char hex[2] = {kDigits[byte >> 4], kDigits[byte & 15]};
    (void)!write(STDERR_FILENO, hex, sizeof(hex));
  }
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(kStuck);
}

void InstallHandlers() {
  signal(SIGALRM, OnStuck);
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(SayWhichRun);
  }
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction old {};
    sigaction(number, nullptr, &old);
    if (old.sa_handler != SIG_DFL) continue;  // a sanitizer's
    struct sigaction action {};
    action.sa_handler = OnSignal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(number, &action, nullptr);
  }
}

void RunOne(const Arguments& arguments, uint64_t run, const FuzzInput& input) {
  run_text_size = std::snprintf(
      run_text, sizeof(run_text), "\nfuzz: died in run %llu; repeat: --seed=%llu --only=%llu\n",
      static_cast<unsigned long long>(run), static_cast<unsigned long long>(arguments.seed),
      static_cast<unsigned long long>(run));
  running = &input;
  alarm(static_cast<unsigned>(arguments.input_seconds));
  FuzzOne(input.data(), input.size());
  alarm(0);
}

int Main(int argc, char** argv) {
  const std::optional<Arguments> arguments = ParseArguments(argc, argv);
  if (!arguments.has_value()) {
    std::fprintf(
        stderr,
        "usage: %s [--runs=N] [--seconds=S] [--input-seconds=S] [--seed=N] [--only=RUN] CORPUS\n",
        argv[0]);
    return 2;
  }
  const std::vector<FuzzInput> corpus = ReadCorpus(arguments->corpus);
  if (corpus.empty()) {
    std::fprintf(stderr, "fuzz: no files in %s\n", arguments->corpus.c_str());
    return 2;
  }
  InstallHandlers();
  const absl::Time end = RealClock().Now() + absl::Seconds(arguments->seconds);
  const uint64_t all = corpus.size() + arguments->runs;
  uint64_t run = arguments->only.value_or(0);
  for (; run < all && RealClock().Now() < end; ++run) {
    if (run < corpus.size()) {
      RunOne(*arguments, run, corpus[run]);
    } else {
      Rng rng(arguments->seed, "fuzz", run);
      const FuzzInput& base = corpus[rng.Below(corpus.size())];
      const FuzzInput& other = corpus[rng.Below(corpus.size())];
      RunOne(*arguments, run, Mutate(base, other, kMostBytes, rng));
    }
    if (arguments->only.has_value()) break;
  }
  std::printf("fuzz: %zu seeds, runs up to %llu of %llu, seed %llu\n", corpus.size(),
              static_cast<unsigned long long>(run), static_cast<unsigned long long>(all),
              static_cast<unsigned long long>(arguments->seed));
  return 0;
}

}  // namespace
}  // namespace gg

int main(int argc, char** argv) {
  return gg::Main(argc, argv);
}
