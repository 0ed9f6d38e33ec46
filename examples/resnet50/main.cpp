// Runs the convolutions of ResNet-50 with the configurations of a bundle (attune bundle), with the default one, and
// with the single configuration that is best for all of them together; prints the end-to-end times.
//
//   resnet50 BUNDLE CONV_CPP [--singles N] [--repeats N] [--kernels FOLDER]
//
// For each layer and configuration the kernel is compiled once, into FOLDER (./kernels), and loaded. The single
// configuration is looked for among those of the N heaviest layers (4).
#include "examples/resnet50/layers.hpp"
#include "include/attune/bundle.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

/// What a kernel is compiled with, in the compiler's own words.
struct configuration {
  std::string flags;
  std::string text; ///< for a person
};

const char* const names[][2] = {{"layout", "LAYOUT"}, {"vec", "VEC"},       {"vectors", "KV"},  {"tile_w", "TILE_W"},
                                {"tile_h", "TILE_H"}, {"tile_c", "TILE_C"}, {"order", "ORDER"}, {"unroll", "UNROLL"}};

std::string text_of(const attune::bundle_value& v) {
  return v.is_number() ? std::to_string(v.integer) : std::string(v.text);
}

configuration of_entry(const attune::bundle_entry& e) {
  configuration out;
  out.flags = std::string(e.text("opt", "-O2"));
  out.text = out.flags;
  for (const auto& [name, macro] : names) {
    const auto value = text_of(e.find(name));
    out.flags += std::string(" -D") + macro + "=" + value;
    out.text += std::string(" ") + name + "=" + value;
  }
  return out;
}

const configuration standard{
    "-O2 -DLAYOUT=0 -DVEC=8 -DKV=1 -DTILE_W=1 -DTILE_H=1 -DTILE_C=64 -DORDER=k,y,x,c -DUNROLL=1", "the default"};

/// The thread's processor time, as conv.cpp takes it.
double now_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// A layer's kernel with its data.
class kernel {
public:
  /// Compiles and loads it. None: it could not be.
  static std::optional<kernel> load(const layer& l, const configuration& how, const std::string& source,
                                    const std::string& folder) {
    const std::string shape = "-DC=" + std::to_string(l.c) + " -DK=" + std::to_string(l.k) +
                              " -DIN=" + std::to_string(l.in) + " -DR=" + std::to_string(l.r) +
                              " -DS=" + std::to_string(l.s);
    const auto hash = std::hash<std::string>()(shape + how.flags);
    const std::string file = folder + "/conv" + std::to_string(hash) + ".so";
    if (!std::filesystem::exists(file)) {
      const std::string made = file + ".new";
      const std::string command = "g++ -march=native -shared -fPIC -DKERNEL_ONLY " + how.flags + " " + shape + " '" +
                                  source + "' -o '" + made + "' && mv '" + made + "' '" + file + "'";
      if (std::system(command.c_str()) != 0) return std::nullopt;
    }
    void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::nullopt;
    kernel out;
    out.run_ = reinterpret_cast<run>(::dlsym(library, "conv_run"));
    const auto pack = reinterpret_cast<void (*)(const float*, float*)>(::dlsym(library, "conv_pack"));
    const auto scratch = reinterpret_cast<std::size_t (*)()>(::dlsym(library, "conv_scratch"));
    if (out.run_ == nullptr || pack == nullptr || scratch == nullptr) return std::nullopt;
    const auto size = [](int a, int b, int c, int d) {
      return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c) *
             static_cast<std::size_t>(d);
    };
    out.input_.resize(size(l.in, l.in, l.c, 1), 0.5F);
    out.output_.resize(size(l.in / l.s, l.in / l.s, l.k, 1));
    out.scratch_.resize(scratch());
    const std::vector<float> weights(size(l.k, l.r, l.r, l.c), 0.25F);
    out.weights_.resize(weights.size());
    pack(weights.data(), out.weights_.data());
    return out;
  }
  /// The shortest of some runs, in milliseconds, after one that warms up: so many at least, and for 50 ms.
  double time(int repeats) {
    double best = 0, all = 0;
    for (int i = 0; i <= repeats || all < 50; ++i) {
      const double begin = now_ms();
      run_(input_.data(), weights_.data(), output_.data(), scratch_.data());
      const double took = now_ms() - begin;
      all += took;
      if (i == 1 || (i > 1 && took < best)) best = took;
    }
    return best;
  }

private:
  using run = void (*)(const float*, const float*, float*, float*);
  run run_ = nullptr;
  std::vector<float> input_, weights_, output_, scratch_;
};

std::optional<double> time_of(const layer& l, const configuration& how, const std::string& source,
                              const std::string& folder, int repeats) {
  auto k = kernel::load(l, how, source, folder);
  return k ? std::optional(k->time(repeats)) : std::nullopt;
}

} // namespace

int main(int argc, char** argv) {
  std::string folder = "kernels";
  std::vector<std::string> words;
  int repeats = 5;
  std::size_t singles = 4;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    if (a == "--repeats" && i + 1 < argc)
      repeats = std::max(1, std::atoi(argv[++i]));
    else if (a == "--singles" && i + 1 < argc)
      singles = static_cast<std::size_t>(std::max(0, std::atoi(argv[++i])));
    else if (a == "--kernels" && i + 1 < argc)
      folder = argv[++i];
    else
      words.push_back(a);
  }
  if (words.size() != 2) {
    std::fputs("resnet50 BUNDLE CONV_CPP [--singles N] [--repeats N] [--kernels FOLDER]\n", stderr);
    return 2;
  }
  std::string why;
  const auto tuned = attune::bundle::open(words[0].c_str(), why);
  if (!tuned) {
    std::fprintf(stderr, "resnet50: %s\n", why.c_str());
    return 2;
  }
  std::filesystem::create_directories(folder);

  struct entry {
    layer what;
    configuration best;
    double before = 0, after = 0;
  };
  std::vector<entry> all;
  int missing = 0;
  for (const auto& l : layers) {
    const auto found = tuned.find("conv", {{"c", l.c}, {"k", l.k}, {"in", l.in}, {"r", l.r}, {"s", l.s}});
    if (found && found.exact)
      all.push_back({l, of_entry(found.entry), 0, 0});
    else
      ++missing;
  }
  if (all.empty()) {
    std::fputs("resnet50: the bundle has none of the layers\n", stderr);
    return 1;
  }
  double before = 0, after = 0;
  for (auto& e : all) {
    const auto first = time_of(e.what, standard, words[1], folder, repeats);
    const auto best = time_of(e.what, e.best, words[1], folder, repeats);
    if (!first || !best) {
      std::fputs("resnet50: a kernel could not be compiled\n", stderr);
      return 1;
    }
    e.before = *first;
    e.after = *best;
    before += e.what.times * e.before;
    after += e.what.times * e.after;
    std::printf("%4d -> %4d  %3d  %dx%d/%d  x%d  %9.3f ms  %9.3f ms  %6.2f x  %s\n", e.what.c, e.what.k, e.what.in,
                e.what.r, e.what.r, e.what.s, e.what.times, e.before, e.after, e.before / e.after, e.best.text.c_str());
  }

  // What one configuration for all does, those of the layers that weigh most.
  auto heavy = all;
  std::stable_sort(heavy.begin(), heavy.end(),
                   [](const entry& a, const entry& b) { return a.what.times * a.after > b.what.times * b.after; });
  std::map<std::string, double> tried;
  std::optional<std::pair<double, std::string>> single;
  for (const auto& candidate : heavy) {
    if (tried.size() >= singles) break;
    if (tried.count(candidate.best.flags) != 0) continue;
    double total = 0;
    bool works = true;
    for (const auto& e : all) {
      const auto took = time_of(e.what, candidate.best, words[1], folder, repeats);
      works = works && took;
      if (took) total += e.what.times * *took;
    }
    tried[candidate.best.flags] = total;
    if (works && (!single || total < single->first)) single = {total, candidate.best.text};
  }
  if (missing > 0) std::printf("%d of the %zu layers are not in the bundle\n", missing, std::size(layers));
  std::printf("default configuration  %9.3f ms\n", before);
  if (single) std::printf("best single one        %9.3f ms  %s\n", single->first, single->second.c_str());
  std::printf("each layer's own       %9.3f ms\n", after);
  std::printf("speed-up over the default %.2f x", before / after);
  if (single) std::printf(", over the best single configuration %.2f x", single->first / after);
  std::printf("\n");
  return 0;
}
