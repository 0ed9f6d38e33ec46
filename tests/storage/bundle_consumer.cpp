// What an application has of Attune: this one header. Compiled as C++17 with every warning on, and linked to nothing.
#include <attune/bundle.hpp>
#include <cstdio>

int main(int argc, char** argv) {
  std::string why;
  const auto tuned = attune::bundle::open(argc > 1 ? argv[1] : "tuned.bundle", why);
  if (!tuned) {
    std::fprintf(stderr, "%s\n", why.c_str());
    return 1;
  }
  for (std::size_t i = 0; i < tuned.size(); ++i) {
    const auto e = tuned[i];
    std::printf("%.*s %lld\n", static_cast<int>(e.workload().size()), e.workload().data(),
                static_cast<long long>(e.integer("x", -1)));
  }
  const auto best = tuned.find("t", {{"n", 64}}, "local");
  std::printf("%s\n", !best ? "none" : best.exact ? "exact" : "near");
  return 0;
}
