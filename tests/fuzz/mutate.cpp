// Runs a fuzzer's function without a coverage-guided engine, the same way on every machine: each file of a corpus, then
// seeded mutations of them (bytes changed, blocks cut out, doubled and joined, words of a dictionary put in).
//
// Usage: fuzz_NAME RUNS SEED CORPUS DICTIONARY
// What it dies of is left in `failed_input` in the working directory; `fuzz_NAME 0 0 FOLDER DICTIONARY` runs it again.
#include "core/random.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using attune::random_engine;

constexpr std::size_t bytes_max = 4096;
std::string current; // what is being run, for the handler

extern "C" void keep_input(int signal) {
  const int file = ::open("failed_input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && ::write(file, current.data(), current.size()) >= 0) ::close(file);
  constexpr char told[] = "fuzz: died; the input is in ./failed_input\n";
  if (::write(2, told, sizeof told - 1) < 0) std::_Exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> out;
  for (const auto& p : paths) out.push_back(contents(p));
  return out;
}

/// The words of libFuzzer's form: one in quotes a line, with \\, \" and \xNN.
std::vector<std::string> read_dictionary(const std::filesystem::path& path) {
  std::vector<std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto from = line.find('"'), to = line.rfind('"');
    if (line.starts_with('#') || from >= to) continue;
    std::string word;
    for (auto i = from + 1; i < to; ++i) {
      if (line[i] != '\\') {
        word += line[i];
      } else if (line[i + 1] == 'x') {
        word += static_cast<char>(std::stoi(line.substr(i + 2, 2), nullptr, 16));
        i += 3;
      } else {
        word += line[++i];
      }
    }
    out.push_back(std::move(word));
  }
  return out;
}

void run(const std::string& input) {
  current = input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(current.data()), current.size());
}

class mutator {
public:
  mutator(const std::vector<std::string>& corpus, const std::vector<std::string>& words, std::uint64_t seed)
      : corpus_(corpus), words_(words), rng_(seed) {}

  std::string make() {
    auto s = corpus_[rng_.below(corpus_.size())];
    for (auto n = 1 + rng_.below(5); n > 0; --n) change(s);
    if (s.size() > bytes_max) s.resize(bytes_max);
    return s;
  }

private:
  std::size_t place(const std::string& s) { return rng_.below(s.size() + 1); }

  void change(std::string& s) {
    switch (rng_.below(8)) {
    case 0: // a byte that is text, or any
      if (!s.empty())
        s[rng_.below(s.size())] = static_cast<char>(rng_.chance(0.9) ? 32 + rng_.below(95) : rng_.below(256));
      return;
    case 1:
      if (const auto at = place(s); at < s.size()) s.erase(at, 1 + rng_.below(8));
      return;
    case 2: { // a block once more, somewhere
      const auto from = place(s), n = std::size_t{1} << rng_.below(7);
      const auto block = s.substr(from, n);
      s.insert(place(s), block);
      return;
    }
    case 3: { // joined with another
      const auto& other = corpus_[rng_.below(corpus_.size())];
      s = s.substr(0, place(s)) + other.substr(place(other));
      return;
    }
    case 4: { // another number
      const auto at = s.find_first_of("0123456789", place(s));
      if (at == std::string::npos) return;
      constexpr std::array numbers{
          "0",   "1",    "-1",         "2",   "64",    "9223372036854775807", "9223372036854775808",
          "1e9", "1e-9", "1000000007", "nan", "10000", "-9223372036854775808"};
      s.replace(at, 1 + rng_.below(3), numbers[rng_.below(numbers.size())]);
      return;
    }
    default:
      if (!words_.empty()) s.insert(place(s), words_[rng_.below(words_.size())]);
    }
  }

  const std::vector<std::string>& corpus_;
  const std::vector<std::string>& words_;
  random_engine rng_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s RUNS SEED CORPUS DICTIONARY\n", argv[0]);
    return 2;
  }
  for (const int s : {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT}) std::signal(s, keep_input);
  const auto corpus = read_corpus(argv[3]);
  if (corpus.empty()) {
    std::fprintf(stderr, "%s: no corpus in %s\n", argv[0], argv[3]);
    return 2;
  }
  const auto words = read_dictionary(argv[4]);
  for (const auto& input : corpus) run(input);
  mutator make(corpus, words, std::strtoull(argv[2], nullptr, 10));
  const auto runs = std::strtoull(argv[1], nullptr, 10);
  for (std::uint64_t i = 0; i < runs; ++i) run(make.make());
  std::printf("%zu files and %llu mutations of them\n", corpus.size(), static_cast<unsigned long long>(runs));
}
